// Package toxiproxy, as the tests of toxiproxy's own repository use it, over the HTTP API of a server that already runs:
// the tests then exercise that server. The address is in LONGWIRE_API.
package toxiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

var ErrProxyAlreadyStarted = errors.New("already started")

var proxiesSoFar atomic.Int64

type ApiServer struct {
	Collection *Collection
	Metrics    *metricsContainer
}

type Collection struct{}

type Proxy struct {
	Name, Listen, Upstream string
	Enabled                bool
	Toxics                 *Toxics
	created                bool
}

type Toxics struct {
	proxy string
}

func NewServer(metrics *metricsContainer, _ zerolog.Logger) *ApiServer {
	return &ApiServer{Collection: &Collection{}, Metrics: metrics}
}

// Listen does nothing: the server listens already.
func (*ApiServer) Listen(string) error {
	return nil
}

// Clear removes every proxy.
func (*Collection) Clear() error {
	var proxies map[string]any
	if err := call("GET", "/proxies", nil, &proxies); err != nil {
		return err
	}
	for name := range proxies {
		if err := call("DELETE", "/proxies/"+name, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// NewProxy is a proxy that the server does not know yet. Every one has a name of its own there.
func NewProxy(_ *ApiServer, name, listen, upstream string) *Proxy {
	name = fmt.Sprintf("%s-%d-%d", name, os.Getpid(), proxiesSoFar.Add(1))
	return &Proxy{Name: name, Listen: listen, Upstream: upstream, Toxics: &Toxics{name}}
}

func (proxy *Proxy) Start() error {
	if proxy.Enabled {
		return ErrProxyAlreadyStarted
	}
	return proxy.send(proxy.Listen, proxy.Upstream, true)
}

func (proxy *Proxy) Stop() {
	if proxy.Enabled {
		if err := proxy.send(proxy.Listen, proxy.Upstream, false); err != nil {
			panic(err)
		}
	}
}

func (proxy *Proxy) Update(input *Proxy) error {
	return proxy.send(input.Listen, input.Upstream, input.Enabled)
}

// Differs says whether the server takes the addresses of another proxy for others than this one's.
func (proxy *Proxy) Differs(other *Proxy) (bool, error) {
	before := proxy.Listen
	err := proxy.Update(other)
	return proxy.Listen != before, err
}

func (proxy *Proxy) send(listen, upstream string, enabled bool) error {
	path := "/proxies"
	if proxy.created {
		path += "/" + proxy.Name
	}
	body, err := json.Marshal(map[string]any{
		"name": proxy.Name, "listen": listen, "upstream": upstream, "enabled": enabled,
	})
	if err != nil {
		return err
	}
	answer := struct {
		Listen   string
		Upstream string
		Enabled  bool
	}{}
	if err := call("POST", path, bytes.NewReader(body), &answer); err != nil {
		return err
	}
	proxy.created = true
	proxy.Listen, proxy.Upstream, proxy.Enabled = answer.Listen, answer.Upstream, answer.Enabled
	return nil
}

func (of *Toxics) AddToxicJson(body io.Reader) (*toxics.ToxicWrapper, error) {
	return nil, call("POST", "/proxies/"+of.proxy+"/toxics", body, nil)
}

func (of *Toxics) RemoveToxic(_ context.Context, name string) error {
	return call("DELETE", "/proxies/"+of.proxy+"/toxics/"+name, nil, nil)
}

func (of *Toxics) ResetToxics(ctx context.Context) {
	var found []struct{ Name string }
	if err := call("GET", "/proxies/"+of.proxy+"/toxics", nil, &found); err != nil {
		panic(err)
	}
	for _, toxic := range found {
		if err := of.RemoveToxic(ctx, toxic.Name); err != nil {
			panic(err)
		}
	}
}

func call(method, path string, body io.Reader, into any) error {
	request, err := http.NewRequest(method, os.Getenv("LONGWIRE_API")+path, body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	if into != nil {
		return json.Unmarshal(text, into)
	}
	return nil
}
