package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the listener. They are the sandbox's own and end what a client left lying about; none is near a client's
// own time-out in a test.
const (
	headerTimeout  = 10 * time.Second  // from the connection, or the previous answer's end, to the whole head
	bodyTimeout    = 30 * time.Second  // from the head to the whole body
	answerTimeout  = 30 * time.Second  // for the client to take an answer
	idleTimeout    = 120 * time.Second // longer than any client keeps a connection unused
	shutdownGrace  = 5 * time.Second   // for answers under way when Serve ends; every wait has ended by then
	maxHeaderBytes = 64 << 10
)

// ErrNotLoopback refuses an address that other machines could reach. Options.AllowRemote permits it.
var ErrNotLoopback = errors.New("sandbox: address is not loopback")

// Listen opens a TCP listener for Serve. An empty host means 127.0.0.1, port 0 any free port.
func (s *Sandbox) Listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("sandbox: listen: %w", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("sandbox: listen: %w", err)
	}
	if err := s.checkAddress(l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (s *Sandbox) checkAddress(l net.Listener) error {
	address, isTCP := l.Addr().(*net.TCPAddr)
	if s.options.AllowRemote || !isTCP || address.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotLoopback, l.Addr())
}

// Serve answers on l until ctx is done or the sandbox is closed, and closes l. When it returns, every connection is
// closed and every goroutine that it started has ended. The answer is nil unless the listener failed by itself.
func (s *Sandbox) Serve(ctx context.Context, l net.Listener) error {
	if err := s.checkAddress(l); err != nil {
		return errors.Join(err, l.Close())
	}
	if !s.enter() {
		return errors.Join(ErrClosed, l.Close())
	}
	defer s.leave()
	life, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(s.life, end)()

	var connections, handlers sync.WaitGroup
	handler := s.Handler()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(life, lifeKey{}, life) },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, socketKey{}, s.sockets.Add(1))
		},
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			}
		},
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(l) }()
	var failed error
	select {
	case <-life.Done():
		failed = shutDown(server)
		<-stopped // always http.ErrServerClosed by now
	case failed = <-stopped:
		end()
		failed = errors.Join(failed, shutDown(server))
	}
	connections.Wait() // from here on no handler begins
	handlers.Wait()    // those that took their connection over are no longer the server's
	return failed
}

// shutDown lets answers under way finish, within bounds. By then every fault's wait has ended.
func shutDown(server *http.Server) error {
	grace, end := context.WithTimeout(context.Background(), shutdownGrace)
	defer end()
	if err := server.Shutdown(grace); err == nil {
		return nil
	}
	return server.Close()
}

// lifeKey and socketKey carry, in a request's context, the context of its Serve call and the number of its connection.
type (
	lifeKey   struct{}
	socketKey struct{}
)

// lifeOf gives the context that ends with the sandbox or the Serve call, but not with the client.
func (s *Sandbox) lifeOf(r *http.Request) context.Context {
	if life, served := r.Context().Value(lifeKey{}).(context.Context); served {
		return life
	}
	return s.life
}

func socketOf(r *http.Request) int64 {
	number, _ := r.Context().Value(socketKey{}).(int64)
	return number
}
