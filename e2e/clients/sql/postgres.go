// Stock lib/pq and pgx of Go: PORT USER PASSWORD. Both by database/sql, which prepares what has parameters, and pgx's own
// connections, batches and simple protocol. Prints each number as `orders NUMBER`, and `ok`.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
	_ "github.com/jackc/pgx/v4/stdlib"
	"github.com/lib/pq"
)

const next = "SELECT nextval('orders')"

var last int64

func got(number int64, err error) {
	check(err)
	if number <= last {
		log.Fatalf("%d after %d", number, last)
	}
	last = number
	fmt.Println("orders", number)
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// The SQLSTATE of an error, whichever driver tells it.
func state(err error) string {
	var ofPq *pq.Error
	var ofPgx *pgconn.PgError
	switch {
	case errors.As(err, &ofPq):
		return string(ofPq.Code)
	case errors.As(err, &ofPgx):
		return ofPgx.Code
	}
	return fmt.Sprint(err)
}

func refused(err error, expected string) {
	if state(err) != expected {
		log.Panicf("%v, not %s", err, expected)
	}
}

type queries interface {
	QueryRow(query string, values ...interface{}) *sql.Row
	Query(query string, values ...interface{}) (*sql.Rows, error)
}

func one(from queries, query string, values ...interface{}) (number int64, err error) {
	err = from.QueryRow(query, values...).Scan(&number)
	return
}

// What is common to both by database/sql.
func standard(driver, url string) {
	db, err := sql.Open(driver, url)
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	check(db.Ping())
	got(one(db, next))
	for n := 0; n < 4; n++ {
		got(one(db, "SELECT nextval($1)", "orders"))
	}
	prepared, err := db.Prepare("SELECT nextval($1)")
	check(err)
	for n := 0; n < 6; n++ {
		var number int64
		err := prepared.QueryRow("orders").Scan(&number)
		got(number, err)
	}
	check(prepared.Close())
	current, err := one(db, "SELECT currval('orders')")
	check(err)
	if current != last {
		log.Panicf("currval %d, not %d", current, last)
	}
	_, err = one(db, "SELECT nextval('nosuch')")
	refused(err, "42P01")
	_, err = one(db, "SELECT nextval($1)", "nosuch")
	refused(err, "42P01")
	got(one(db, next))

	block, err := db.Begin()
	check(err)
	got(one(block, next))
	_, err = block.Exec("SAVEPOINT before")
	check(err)
	_, err = one(block, "SELECT nextval('nosuch')")
	refused(err, "42P01")
	_, err = block.Exec("ROLLBACK TO SAVEPOINT before")
	check(err)
	got(one(block, next))
	check(block.Commit())
	rows, err := db.Query("SELECT nextval('orders') FROM generate_series(1, $1)", 5)
	check(err)
	for rows.Next() {
		var number int64
		err := rows.Scan(&number)
		got(number, err)
	}
	check(rows.Err())
	readOnly, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable})
	check(err)
	_, err = one(readOnly, next)
	refused(err, "25006")
	check(readOnly.Rollback())
	check(db.Ping())
}

func own(url string) {
	always := context.Background()
	connection, err := pgx.Connect(always, url)
	check(err)
	defer connection.Close(always)
	var number int64
	for n := 0; n < 3; n++ {
		err := connection.QueryRow(always, "SELECT nextval($1)", "orders").Scan(&number)
		got(number, err)
		err = connection.QueryRow(always, next, pgx.QuerySimpleProtocol(true)).Scan(&number)
		got(number, err)
	}
	var batch pgx.Batch
	for n := 0; n < 10; n++ {
		batch.Queue("SELECT nextval($1)", "orders")
	}
	results := connection.SendBatch(always, &batch)
	for n := 0; n < 10; n++ {
		err := results.QueryRow().Scan(&number)
		got(number, err)
	}
	check(results.Close())
	err = connection.BeginFunc(always, func(block pgx.Tx) error {
		err := block.QueryRow(always, next).Scan(&number)
		got(number, err)
		return nil
	})
	check(err)
	check(connection.Ping(always))
}

func main() {
	where := fmt.Sprintf("host=127.0.0.1 port=%s user=%s password=%s dbname=ids sslmode=disable", os.Args[1], os.Args[2], os.Args[3])
	standard("postgres", where)
	standard("postgres", where+" binary_parameters=yes")
	standard("pgx", where)
	own(where)
	fmt.Println("ok")
}
