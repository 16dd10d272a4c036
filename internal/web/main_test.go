package web_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// one is the browser that all tests share, each in a context of its own: starting one takes longer than most tests.
var one struct {
	ctx context.Context //nolint:containedctx // chromedp's browser is its context
	err error
}

func TestMain(m *testing.M) {
	profile, err := os.MkdirTemp("", "holdfast-browser-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile), chromedp.WindowSize(1100, 900),
		chromedp.WSURLReadTimeout(2*time.Minute), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	var end context.CancelFunc
	one.ctx, end = chromedp.NewContext(allocator)
	_, one.err = chromedp.Run(one.ctx, chromedp.Navigate("about:blank"))
	code := m.Run()
	end()
	stop()
	_ = os.RemoveAll(profile)
	os.Exit(code)
}
