// net/http, lib/pq: eight queries with parameters, prepared and run in two round trips (page) or in one (mended: binary_parameters).
package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"

	_ "github.com/lib/pq"
)

var texts = []string{
	"select name from customers where id = $1",
	"select total from orders where id = $1",
	"select city from customers where id = $1",
	"select note from orders where id = $1",
	"select count(*) from orders where id between $1 and $1 + 20",
	"select max(total) from orders where id < $1",
	"select customer_id from orders where id = $1",
	"select min(total) from orders where id between $1 and $1 + 9",
}

func main() {
	for path, more := range map[string]string{"/page": "", "/mended": " binary_parameters=yes"} {
		database, err := sql.Open("postgres", "host=10.88.2.2 user=pages password=pages dbname=pages sslmode=disable"+more)
		if err != nil {
			panic(err)
		}
		database.SetMaxIdleConns(4)
		http.HandleFunc(path, func(response http.ResponseWriter, _ *http.Request) {
			for place, text := range texts {
				var found string
				if err := database.QueryRow(text, 70+place).Scan(&found); err != nil {
					http.Error(response, err.Error(), 500)
					return
				}
				fmt.Fprintln(response, found)
			}
		})
	}
	panic(http.ListenAndServe("10.88.1.2:"+os.Args[1], nil))
}
