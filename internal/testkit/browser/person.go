package browser

import (
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Person is somebody else at the same Chromium: nothing of what others have logged in to is known to them.
func (b *Browser) Person(tb testing.TB) *Browser {
	tb.Helper()
	return b.open(tb, chromedp.WithNewBrowserContext())
}

// Tab is another tab of the same person.
func (b *Browser) Tab(tb testing.TB) *Browser {
	tb.Helper()
	return b.open(tb)
}

func (b *Browser) open(tb testing.TB, options ...chromedp.ContextOption) *Browser {
	tb.Helper()
	tab, closeTab := chromedp.NewContext(b.ctx, options...)
	tb.Cleanup(closeTab)
	_, err := chromedp.Run(tab, chromedp.Navigate("about:blank"))
	require.NoError(tb, err)
	return &Browser{tb: tb, ctx: tab}
}

// Phone makes the screen that of a phone.
func (b *Browser) Phone() {
	b.tb.Helper()
	run(b, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
}

// Fits reports whether the page is no wider than the screen.
func (b *Browser) Fits() bool {
	b.tb.Helper()
	return run(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth <= innerWidth`))
}

// Has reports whether the page has an element.
func (b *Browser) Has(selector string) bool {
	b.tb.Helper()
	return run(b, chromedp.Evaluate[bool]("document.querySelector("+strconv.Quote(selector)+") !== null"))
}

// Press clicks an element where it is there at this moment, and reports whether it was.
func (b *Browser) Press(selector string) bool {
	b.tb.Helper()
	return run(b, chromedp.Evaluate[bool]("(e => { e?.click(); return Boolean(e); })(document.querySelector("+strconv.Quote(selector)+"))"))
}

// URL is that of the page.
func (b *Browser) URL() string {
	b.tb.Helper()
	return run(b, chromedp.Location())
}

// HTML is the page as it is now, with what is not seen.
func (b *Browser) HTML() string {
	b.tb.Helper()
	return run(b, chromedp.Evaluate[string]("document.documentElement.outerHTML"))
}
