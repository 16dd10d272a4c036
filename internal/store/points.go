package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
)

// points reads single rows by their keys on connections of its own: what every request of the gateway reads first. It goes past
// database/sql, whose watching of a context and conversion of columns take longer than the read itself.
type points struct {
	turns chan struct{} // as many as there are connections: to have one is all that a read in WAL mode waits for

	mu   sync.Mutex
	free []*point // the one that was used last is used next: what it has read is still near the processor
}

type point struct {
	conn       *sql.Conn
	statements map[string]driver.StmtQueryContext
}

var errNoDriver = errors.New("the driver does not prepare statements")

// openPoints prepares the statements on so many connections of a pool, which it keeps.
func openPoints(ctx context.Context, pool *sql.DB, size int, texts ...string) (*points, error) {
	p := &points{turns: make(chan struct{}, size)}
	for range size {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return p, err
		}
		made := &point{conn: conn, statements: map[string]driver.StmtQueryContext{}}
		p.free = append(p.free, made)
		if err := conn.Raw(func(raw any) error { return made.prepare(ctx, raw, texts) }); err != nil {
			return p, fmt.Errorf("prepare statement: %w", err)
		}
	}
	return p, nil
}

func (p *point) prepare(ctx context.Context, raw any, texts []string) error {
	preparer, ok := raw.(driver.ConnPrepareContext)
	if !ok {
		return errNoDriver
	}
	for _, text := range texts {
		prepared, err := preparer.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		statement, ok := prepared.(driver.StmtQueryContext)
		if !ok {
			return errNoDriver
		}
		p.statements[text] = statement
	}
	return nil
}

// read gives the row that a statement finds for a key; [sql.ErrNoRows] when it finds none.
func (p *points) read(ctx context.Context, text, key string) (row pointRow, err error) {
	free, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	defer p.give(free)
	err = free.conn.Raw(func(any) error {
		// A point is read faster than its reading could be called off.
		rows, err := free.statements[text].QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: key}})
		if err != nil {
			return err
		}
		row = make(pointRow, len(rows.Columns()))
		err = rows.Next(row)
		if errors.Is(err, io.EOF) {
			err = sql.ErrNoRows
		}
		return errors.Join(err, rows.Close())
	})
	return row, err
}

func (p *points) take(ctx context.Context) (*point, error) {
	select {
	case p.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 { // closed
		<-p.turns
		return nil, sql.ErrConnDone
	}
	free := p.free[last]
	p.free = p.free[:last]
	return free, nil
}

func (p *points) give(free *point) {
	p.mu.Lock()
	p.free = append(p.free, free)
	p.mu.Unlock()
	<-p.turns
}

// close ends the connections, once nobody reads on them.
func (p *points) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var faults []error
	for _, free := range p.free {
		faults = append(faults, free.conn.Raw(func(any) error {
			var faults []error
			for _, statement := range free.statements {
				faults = append(faults, statement.(driver.Stmt).Close()) //nolint:forcetypeassert // it was one
			}
			return errors.Join(faults...)
		}), free.conn.Close())
	}
	p.free = nil
	return errors.Join(faults...)
}

// pointRow is a row as the driver gives it: texts, numbers, bytes.
type pointRow []driver.Value

// Scan implements [scanner].
func (r pointRow) Scan(targets ...any) error {
	if len(targets) != len(r) {
		return fmt.Errorf("scan %d columns into %d targets", len(r), len(targets))
	}
	for i, target := range targets {
		if !r.into(i, target) {
			return fmt.Errorf("column %d is %T, which is no %T", i, r[i], target)
		}
	}
	return nil
}

func (r pointRow) into(i int, target any) (ok bool) {
	switch into := target.(type) {
	case *string:
		*into, ok = r[i].(string)
	case *int64:
		*into, ok = r[i].(int64)
	case *[]byte:
		*into, ok = r[i].([]byte)
		ok = ok || r[i] == nil
	default: // a string of a type of its own
		var text string
		text, ok = r[i].(string)
		if value := reflect.ValueOf(target).Elem(); ok && value.Kind() == reflect.String {
			value.SetString(text)
			return true
		}
		return false
	}
	return ok
}
