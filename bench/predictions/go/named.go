package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
)

type comment struct{}

var naming = os.Getenv("SQLCOMMENTER") == "own"

var unsafe = regexp.MustCompile(`[^\w./-]`)

// Without what could end the comment or the text: a client sent it.
func safe(text string) string { return unsafe.ReplaceAllString(text, "") }

// Keeps what names the request for the statements it causes.
func remember(request *http.Request) context.Context {
	text := fmt.Sprintf(" /*route='%s',traceparent='%s'*/", safe(strings.Trim(request.URL.Path, "/")), safe(request.Header.Get("traceparent")))
	return context.WithValue(request.Context(), comment{}, text)
}

// Names the statement's request in a comment at its end.
func named(ctx context.Context, sql string) string {
	if text, found := ctx.Value(comment{}).(string); found && naming {
		return sql + text
	}
	return sql
}
