package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	listPage = 100
	// listCalls is how many visibility calls a page of a list may cost.
	listCalls = 2.0
)

// counting counts the calls that a list may cost.
type counting struct {
	client.Client

	lists, others int
}

func (c *counting) ListWorkflow(
	ctx context.Context, in *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	c.lists++
	return c.Client.ListWorkflow(ctx, in)
}

func (c *counting) CountWorkflow(
	ctx context.Context, in *workflowservice.CountWorkflowExecutionsRequest,
) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	c.lists++
	return c.Client.CountWorkflow(ctx, in)
}

func (c *counting) DescribeWorkflow(ctx context.Context, id, run string) (*client.WorkflowExecutionDescription, error) {
	c.others++
	return c.Client.DescribeWorkflow(ctx, id, run)
}

// list reads the whole fleet by pages, as the gateway does.
func (f *fleet) list(ctx context.Context, figure *Figure) error {
	counted := &counting{Client: f.temporal}
	connections := connection.NewClient(counted, temporalclient.DataConverter(f.keys.AEAD()), taskQueue)
	var pages sample
	rows, token := 0, ""
	for {
		began := time.Now()
		page, next, err := connections.ListPage(ctx, connection.Filter{}, connection.Page{Size: listPage, Token: token})
		if err != nil {
			return err
		}
		pages = append(pages, time.Since(began))
		rows += len(page)
		if token = next; token == "" {
			break
		}
	}
	if rows != len(f.members) {
		return fmt.Errorf("list the fleet: %d of %d", rows, len(f.members))
	}
	figure.spread(fmt.Sprintf("a page of %d of the list", listPage), pages)
	figure.limit("visibility calls of a page", float64(counted.lists)/float64(len(pages)), "", listCalls)
	figure.limit("calls about single connections in the whole list", float64(counted.others), "", 0)
	return nil
}
