// Go: net/http and pgx: /held keeps a connection for its request, /each takes one for each statement. The others are pages of different statements:
// /item and /list take a connection for each, /buy keeps one for its transaction. With BACKGROUND, a job that belongs to no request uses the pool.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

type querier interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
}

func marked(request *http.Request, text string) string {
	suffix := ""
	if parent := request.Header.Get("traceparent"); parent != "" {
		suffix = fmt.Sprintf(" /*traceparent='%s'*/", parent)
	}
	return fmt.Sprintf("/* r=%s */ %s%s", request.FormValue("r"), text, suffix)
}

func ask(request *http.Request, sql querier) error {
	var texts []string
	for n := range 5 {
		texts = append(texts, fmt.Sprintf("select id, name, stars from items where id = %d", n+1))
	}
	return askAll(request, sql, texts)
}

func askAll(request *http.Request, sql querier, texts []string) error {
	for _, text := range texts {
		if _, err := sql.Exec(request.Context(), marked(request, text)); err != nil {
			return err
		}
	}
	return nil
}

func list(request *http.Request, sql querier) error {
	number, err := strconv.Atoi(request.FormValue("r"))
	if err != nil {
		return err
	}
	texts := []string{"select id, author_id from items order by stars limit 10"}
	for n := range number % 7 {
		texts = append(texts, fmt.Sprintf("select name from authors where id = %d", n+1))
	}
	return askAll(request, sql, texts)
}

func buy(request *http.Request, pool *pgxpool.Pool) error {
	if err := askAll(request, pool, []string{"select name, stars, author_id from items where id = 8"}); err != nil {
		return err
	}
	texts := []string{"begin", "select count(*) from items where stars = 3", "insert into visits (item) values (3)", "commit"}
	return pool.AcquireFunc(request.Context(), func(connection *pgxpool.Conn) error { return askAll(request, connection, texts) })
}

// work is a job that no request causes.
func work(pool *pgxpool.Pool) {
	for range time.Tick(15 * time.Millisecond) {
		for _, text := range []string{"select name from authors where id = 3", "select max(id) from visits"} {
			if _, err := pool.Exec(context.Background(), "/* r=nobody */ "+text); err != nil {
				log.Print(err)
			}
		}
	}
}

func main() {
	config, err := pgxpool.ParseConfig("pool_max_conns=" + os.Getenv("POOL"))
	if err != nil {
		log.Fatal(err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	serve := func(path string, page func(*http.Request) error) {
		http.HandleFunc(path, func(response http.ResponseWriter, request *http.Request) {
			if err := page(request); err != nil {
				http.Error(response, err.Error(), http.StatusInternalServerError)
				return
			}
			fmt.Fprint(response, "done")
		})
	}
	if os.Getenv("BACKGROUND") != "" {
		go work(pool)
	}
	items := []string{"select name, stars, author_id from items where id = 7", "select name from authors where id = 7"}
	serve("/item", func(request *http.Request) error { return askAll(request, pool, items) })
	serve("/list", func(request *http.Request) error { return list(request, pool) })
	serve("/buy", func(request *http.Request) error { return buy(request, pool) })
	serve("/each", func(request *http.Request) error { return ask(request, pool) })
	serve("/held", func(request *http.Request) error {
		return pool.AcquireFunc(request.Context(), func(connection *pgxpool.Conn) error { return ask(request, connection) })
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
