// Go: net/http and pgx: /held keeps a connection for its request, /each takes one for each statement.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

type querier interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
}

func ask(request *http.Request, sql querier) error {
	suffix := ""
	if parent := request.Header.Get("traceparent"); parent != "" {
		suffix = fmt.Sprintf(" /*traceparent='%s'*/", parent)
	}
	for n := range 5 {
		text := fmt.Sprintf("/* r=%s */ select id, name, stars from items where id = %d%s", request.FormValue("r"), n+1, suffix)
		if _, err := sql.Exec(request.Context(), text); err != nil {
			return err
		}
	}
	return nil
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
	serve("/each", func(request *http.Request) error { return ask(request, pool) })
	serve("/held", func(request *http.Request) error {
		return pool.AcquireFunc(request.Context(), func(connection *pgxpool.Conn) error { return ask(request, connection) })
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
