// Command probe sends one HTTPS request to the API server and prints the status code, a newline and the body.
//
// Usage: PROBE_TOKEN=… probe METHOD URL CA_FILE
//
// A body for the request, if any, is read from standard input. The exit code is 0 whenever the server answered,
// whatever the status.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// One request to a server on this machine: longer than this is an outage, and the caller tries again.
const limit = 10 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: PROBE_TOKEN=… probe METHOD URL CA_FILE")
	}
	pem, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("no certificate in %s", args[2])
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(args[0], args[1], bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PROBE_TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	client := &http.Client{Transport: transport, Timeout: limit}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	fmt.Printf("%d\n%s", response.StatusCode, answer)
	return nil
}
