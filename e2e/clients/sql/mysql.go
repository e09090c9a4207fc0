// Stock go-sql-driver of Go: PORT USER PASSWORD. Text and prepared statements, LastInsertId, a transaction, pings. Prints
// each number as `NAME NUMBER`, and `ok`.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/go-sql-driver/mysql"
)

const (
	next   = "SELECT NEXTVAL(orders)"
	ticket = "REPLACE INTO tickets (stub) VALUES (?)"
)

var last = map[string]int64{}

func got(name string, number int64, err error) {
	check(err)
	if number <= last[name] {
		log.Panicf("%s: %d after %d", name, number, last[name])
	}
	last[name] = number
	fmt.Println(name, number)
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func one(row *sql.Row) (number int64, err error) {
	err = row.Scan(&number)
	return
}

func use(url string) {
	db, err := sql.Open("mysql", url)
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	check(db.Ping())
	for n := 0; n < 5; n++ {
		done, err := db.Exec(ticket, "a")
		check(err)
		id, err := done.LastInsertId()
		got("tickets", id, err)
		again, err := one(db.QueryRow("SELECT LAST_INSERT_ID()"))
		check(err)
		if again != id {
			log.Panicf("%d, not %d", again, id)
		}
		number, err := one(db.QueryRow(next))
		got("orders", number, err)
	}
	prepared, err := db.Prepare(next)
	check(err)
	for n := 0; n < 5; n++ {
		number, err := one(prepared.QueryRow())
		got("orders", number, err)
	}
	check(prepared.Close())
	_, err = one(db.QueryRow("SELECT NEXTVAL(nosuch)"))
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 4091 {
		log.Panic(err)
	}
	block, err := db.Begin()
	check(err)
	number, err := one(block.QueryRow(next))
	got("orders", number, err)
	check(block.Rollback())
	number, err = one(db.QueryRow(next))
	got("orders", number, err)
	check(db.Ping())
}

func main() {
	where := fmt.Sprintf("%s:%s@tcp(127.0.0.1:%s)/ids", os.Args[2], os.Args[3], os.Args[1])
	use(where)
	use(where + "?interpolateParams=true")
	fmt.Println("ok")
}
