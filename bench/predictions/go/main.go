// Go: net/http and a pgx pool of eight connections.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type row struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Stars int    `json:"stars"`
}

type querier interface {
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

var pool *pgxpool.Pool

func item() int { return 1 + rand.IntN(1000) }

func lookUp(ctx context.Context, sql querier, number int) (found row, err error) {
	query := "select id, name, stars from items where id = $1"
	err = sql.QueryRow(ctx, query, number).Scan(&found.ID, &found.Name, &found.Stars)
	return found, err
}

func one(ctx context.Context) ([]row, error) {
	found, err := lookUp(ctx, pool, item())
	return []row{found}, err
}

func eight(ctx context.Context) ([]row, error) {
	rows := make([]row, 8)
	for n := range rows {
		var err error
		if rows[n], err = lookUp(ctx, pool, item()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func parallel(ctx context.Context) ([]row, error) {
	rows, errs := make([]row, 4), make([]error, 4)
	var all sync.WaitGroup
	for n := range rows {
		all.Go(func() { rows[n], errs[n] = lookUp(ctx, pool, item()) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func transaction(ctx context.Context) ([]row, error) {
	number, found := item(), row{}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		if found, err = lookUp(ctx, tx, number); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, "update items set stars = stars + 1 where id = $1", number); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "insert into visits (item) values ($1)", number)
		return err
	})
	return []row{found}, err
}

func as[rows any](page func(context.Context) (rows, error)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return page(ctx) }
}

type listed struct {
	row
	Author string `json:"author"`
}

func n1(ctx context.Context) (any, error) {
	query := "select id, name, stars, author_id from items where id >= $1 order by id limit 12"
	rows, err := pool.Query(ctx, named(ctx, query), 1+rand.IntN(900))
	if err != nil {
		return nil, err
	}
	type item struct {
		row
		author int
	}
	items, err := pgx.CollectRows(rows, func(found pgx.CollectableRow) (one item, err error) {
		return one, found.Scan(&one.ID, &one.Name, &one.Stars, &one.author)
	})
	if err != nil {
		return nil, err
	}
	page := make([]listed, len(items))
	for n, item := range items {
		page[n].row = item.row
		query := "select name from authors where id = $1"
		if err := pool.QueryRow(ctx, named(ctx, query), item.author).Scan(&page[n].Author); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func joined(ctx context.Context) (any, error) {
	query := "select i.id, i.name, i.stars, a.name from items i join authors a on a.id = i.author_id where i.id >= $1 order by i.id limit 12"
	rows, err := pool.Query(ctx, named(ctx, query), 1+rand.IntN(900))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(found pgx.CollectableRow) (one listed, err error) {
		return one, found.Scan(&one.ID, &one.Name, &one.Stars, &one.Author)
	})
}

func main() {
	var err error
	settings := "pool_max_conns=8 sslmode=" + os.Getenv("PGSSLMODE")
	if naming {
		// A text of its own for each request: prepared, each would cost a turn more and be executed once.
		settings += " default_query_exec_mode=exec"
	}
	if pool, err = pgxpool.New(context.Background(), settings); err != nil {
		log.Fatal(err)
	}
	pages := map[string]func(context.Context) (any, error){
		"one": as(one), "eight": as(eight), "parallel": as(parallel), "transaction": as(transaction), "n1": n1, "joined": joined,
	}
	for name, page := range pages {
		http.HandleFunc("/"+name, func(response http.ResponseWriter, request *http.Request) {
			rows, err := page(remember(request))
			if err != nil {
				http.Error(response, err.Error(), http.StatusInternalServerError)
				return
			}
			json.NewEncoder(response).Encode(rows)
		})
	}
	log.Fatal(http.ListenAndServe(cmp.Or(os.Getenv("HOST"), "127.0.0.1")+":"+os.Getenv("PORT"), nil))
}
