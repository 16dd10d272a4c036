package web_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const within = 2 * time.Minute

// tab is a tab of a browser that knows nothing of other tests. What its console complains of fails the test: a violation of the
// content security policy, an error of the script, something that is not there.
type tab struct {
	r   *rig
	ctx context.Context //nolint:containedctx // chromedp's tab is its context

	mu         sync.Mutex
	complaints []string
}

func (r *rig) browser() *tab {
	r.t.Helper()
	require.NoError(r.t, one.err, "run `make tools`")
	return r.tab(one.ctx, chromedp.WithNewBrowserContext())
}

func (r *rig) tab(parent context.Context, options ...chromedp.ContextOption) *tab {
	r.t.Helper()
	b := &tab{r: r}
	options = append(options, chromedp.WithListener(b.listen))
	ctx, end := chromedp.NewContext(parent, options...)
	_, err := chromedp.Run(ctx, chromedp.Navigate("about:blank")) // the tab lives as long as this context
	require.NoError(r.t, err)
	limited, cancel := context.WithTimeout(ctx, 5*time.Minute)
	b.ctx = limited
	r.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		cancel()
		end()
		require.Empty(r.t, b.complaints)
	})
	return b
}

// second is another tab of the same browser, with the same login.
func (b *tab) second() *tab {
	b.r.t.Helper()
	return b.r.tab(b.ctx)
}

func (b *tab) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning || e.Entry.Source == log.EntrySourceSecurity {
			said = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		said = "console." + string(e.Type)
	}
	// Statuses are what the tests ask for; a stream ends with its page.
	if said == "" || strings.Contains(said, "the server responded with a status of") || strings.Contains(said, "ERR_INCOMPLETE_CHUNKED_ENCODING") {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, said)
}

func run[T any](b *tab, action chromedp.Action[T]) T {
	b.r.t.Helper()
	value, err := chromedp.Run(b.ctx, action)
	require.NoError(b.r.t, err)
	return value
}

// open loads a page. Another page may follow by itself.
func (b *tab) open(path string) *tab {
	b.r.t.Helper()
	run(b, chromedp.Navigate(b.r.server.URL+path))
	return b
}

// sees waits until the visible text of the page has all of the texts.
func (b *tab) sees(texts ...string) *tab {
	b.r.t.Helper()
	b.waits(func(shown string) bool {
		for _, each := range texts {
			if !strings.Contains(shown, each) {
				return false
			}
		}
		return true
	}, "the page shows "+strings.Join(texts, " | "))
	return b
}

// sees not waits until the page does not show a text.
func (b *tab) misses(text string) *tab {
	b.r.t.Helper()
	b.waits(func(shown string) bool { return !strings.Contains(shown, text) }, "the page does not show "+text)
	return b
}

func (b *tab) waits(holds func(shown string) bool, claim string) {
	b.r.t.Helper()
	shown := ""
	if !testkit.Poll(b.r.t, within, func() bool {
		seen, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`))
		if err == nil {
			shown = seen
		}
		return err == nil && holds(seen)
	}) {
		b.shoot("failed-" + b.r.t.Name())
		b.r.t.Fatalf("not within %s: %s\n%s", within, claim, shown)
	}
}

// has reports whether the page has an element.
func (b *tab) has(selector string) bool {
	b.r.t.Helper()
	return run(b, chromedp.Evaluate[bool](`document.querySelector(`+"`"+selector+"`"+`) !== null`))
}

func (b *tab) click(selector string) *tab {
	b.r.t.Helper()
	run(b, chromedp.Click(selector))
	return b
}

func (b *tab) fill(selector, text string) *tab {
	b.r.t.Helper()
	run(b, chromedp.SetValue(selector, text))
	return b
}

func (b *tab) press(keys string) *tab {
	b.r.t.Helper()
	run(b, chromedp.KeyEvent(keys))
	return b
}

// login logs in by the identity provider, at the page that is asked for.
func (b *tab) login(user, path string) *tab {
	b.r.t.Helper()
	b.open(path).sees("Log in with 127.0.0.1").click(`a[href^="/login/oidc"]`).sees("Who are you?")
	return b.click(`a[href*="user=` + user + `"]`)
}

// shoot keeps a picture of the page for people to look at.
func (b *tab) shoot(name string) *tab {
	b.r.t.Helper()
	picture := run(b, chromedp.FullScreenshot(100))
	dir := os.Getenv("HOLDFAST_SCREENSHOTS")
	if dir == "" {
		dir = filepath.Join(testkit.RepoRoot(b.r.t), ".cache", "screenshots")
	}
	require.NoError(b.r.t, os.MkdirAll(dir, 0o755))
	require.NoError(b.r.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
	return b
}

// fits reports whether the page is no wider than the screen.
func (b *tab) fits() bool {
	return run(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth <= innerWidth`))
}

// Case 49.
func TestAPersonApprovesAndSeesTheRealOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	b := r.browser().login("ann", link(row)).sees("github.create_issue", "Login fails on Safari", "claude-code 2.1", "Ann Example", "left", "rule 2")
	b.shoot("approval-pending")
	b.fill("#reason", "it is the right repository").click(`button[value="accept"]`).sees("Approved", "Running", "it is the right repository")
	require.False(t, b.has("#answer"))
	b.shoot("approval-running")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "Created issue #128 in acme/site\nhttps://github.com/acme/site/issues/128")
	b.sees("The tool ran and answered", "Created issue #128", "tell it").misses("Running")
	b.shoot("approval-done")
	require.Equal(t, approval.ActionAccept, r.engine.answered()[0].Action)
}

func TestALoginByTokenLeadsToThePageThatWasWanted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	b := r.browser().open(link(row)).sees("API token")
	b.shoot("login")
	b.fill("#token", "hft_wrong").click(`form button`).sees("You are not logged in")
	b.shoot("login-refused")
	b.fill("#token", r.token(auth.RoleCollaborator, "elsewhere")).click(`form button`).sees("Nothing here for you")
	b.shoot("not-found")
	require.Equal(t, r.server.URL+link(row), run(b, chromedp.Location()))
}

func TestASecondTabShowsTheFirstDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	first := r.browser().login("ann", link(row)).sees("Approve")
	second := first.second().open(link(row)).sees("Approve")
	first.click(`button[value="decline"]`).sees("Declined", "Ending the call")
	second.sees("Declined", "by Ann Example").misses("Decline tells")
	require.False(t, second.has("#answer"), "the other tab hears of it by itself")

	// Who was not told in time is told by the answer.
	row = r.pause()
	first.open(link(row)).sees("Approve")
	stale := r.as("ann")
	stale.post(link(row), "action", "cancel", "reason", "wrong repository")
	late := stale.post(link(row), "action", "accept")
	first.open(late.header.Get("Location")).sees("Your answer was not taken", "cancelled", "wrong repository")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCancelled}, "")
	first.sees("Called off")
	first.shoot("approval-conflict")
}

func TestTheButtonGoesWithTheDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(func(_ *store.Execution, p *store.PauseRow) { p.Deadline = p.CreatedAt.Add(20 * time.Second) })
	b := r.browser().login("ann", link(row)).sees("github.create_issue")
	r.advance(time.Minute)
	b.sees("Too late", "ask for the call again").misses("Waiting for you")
	require.False(t, b.has("#answer"))
	r.expire(row)
	b.sees("The tool was not called").misses("Running")
	b.shoot("approval-expired")
}

func TestAFormIsFilledInAndHeldToItsSchema(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(asForm)
	b := r.browser().login("ann", link(row)).sees("Which ticket is it?", "Mail of the reporter", "Operations")
	b.shoot("approval-form")
	b.click(`button[value="accept"]`)
	require.True(t, run(b, chromedp.Evaluate[bool](`document.querySelector('[name="f.count"]').matches(":invalid")`)), "the browser holds what is needed")
	// What the browser does not hold, the server does.
	run(b, chromedp.Evaluate[bool](`(document.getElementById("answer").noValidate = true)`))
	b.fill(`[name="f.count"]`, "99").click(`button[value="accept"]`).sees("nothing was sent yet", "It has to be 1 to 10")
	b.shoot("approval-form-wrong")
	b.fill(`[name="f.count"]`, "3").click(`button[value="accept"]`).sees("Approved")
	require.Contains(t, string(r.engine.answered()[0].Content), `"count":3`)
}

func TestAPageOfTheToolIsNamedBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(asURL("https://calendar.example/connect?session=1"))
	b := r.browser().login("ann", link(row)).sees("It leads to", "calendar.example", "Open the page")
	b.shoot("approval-url")
	row = r.pause(asURL("javascript:alert(document.cookie)"))
	b.open(link(row)).sees("not a web address that can be opened safely")
	require.False(t, b.has(`a[href^="javascript"]`))
	b.shoot("approval-url-unsafe")
}

func TestKeysAskBeforeTheyDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	b := r.browser().login("ann", link(row)).sees("github.create_issue", "left") // the script is there
	b.press("a").sees("Approve github.create_issue?")
	b.shoot("approval-confirm")
	b.press("\u001b").misses("Approve github.create_issue?")
	b.press("c").sees("Cancel github.create_issue?").click("[data-no]").misses("Cancel github.create_issue?")
	run(b, chromedp.Focus("#reason"))
	b.press("dad").misses("Decline github.create_issue?")
	require.Equal(t, "dad", run(b, chromedp.Value("#reason")))
	require.Empty(t, r.engine.answered())
	b.press("\u001b").press("d").sees("Decline github.create_issue?").press("\r").sees("Declined")
	require.Equal(t, approval.ActionDecline, r.engine.answered()[0].Action)
	require.Equal(t, "dad", r.engine.answered()[0].Reason)
}

func TestEverythingFitsAPhone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(func(e *store.Execution, p *store.PauseRow) {
		e.Arguments = []byte(`{"text":"` + strings.Repeat("averylongword", 30) + `"}`)
		p.Request.Message = "Send a long message " + strings.Repeat("x", 200)
	})
	form, decided := r.pause(asForm), r.pause()
	b := r.browser()
	run(b, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.login("ann", link(row)).sees("Approve", "left")
	require.True(t, b.fits())
	b.shoot("phone-pending")
	require.True(t, b.open(link(form)).sees("Which ticket").fits())
	b.shoot("phone-form")
	require.True(t, b.open("/approvals").sees("Review").fits())
	b.shoot("phone-inbox")
	b.open(link(decided)).sees("left").click(`button[value="accept"]`).sees("Approved")
	r.settle(decided.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "done")
	b.sees("The tool ran")
	b.shoot("phone-decided")
	require.True(t, b.open("/approvals/history").sees("approved").fits())
	b.shoot("phone-history")
	require.True(t, b.open("/").sees("Connect a client").fits())
}

func TestTheInboxFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.browser().login("ann", "/approvals").sees("Nothing waits")
	b.shoot("inbox-empty")
	row := r.pause()
	b.sees("github.create_issue", "Review", "left")
	r.pause(func(e *store.Execution, p *store.PauseRow) {
		e.Address, p.Request.Message = "mail.send", "Send a mail to 3 people"
		p.Deadline = p.CreatedAt.Add(30 * time.Hour)
	})
	b.sees("mail.send")
	testkit.Eventually(t, within, func() bool { return run(b, chromedp.Title()) == "(2) Approvals · Holdfast" }, "the title counts")
	b.shoot("inbox")
	r.as("ann").post(link(row), "action", "accept")
	b.misses("github.create_issue").sees("mail.send")
	r.advance(31 * time.Hour)
	b.r.t.Log("the login of 12 hours is over too")
	b.sees("API token")
}

func TestTheHistoryShowsWhoDecidedAndHowItEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann, ops := r.as("ann"), r.as("ops")
	for i, action := range []string{"accept", "decline", "cancel", "accept"} {
		row := r.pause()
		who := ann
		if i%2 == 1 {
			who = ops
		}
		who.post(link(row), "action", action)
		r.settle(row.Key, approval.Outcome{Kind: []approval.OutcomeKind{
			approval.OutcomeCompleted, approval.OutcomeDeclined, approval.OutcomeCancelled, approval.OutcomeUnknown,
		}[i]}, "")
	}
	r.expire(r.pause())
	b := r.browser().login("ops", "/approvals/history").sees("may have run", "called off", "expired", "Ann Example", "Ops")
	b.shoot("history")
	run(b, chromedp.SetValue("#ending", "declined"))
	b.click(".filter button").sees("not run").misses("may have run")
	b.click("td a").sees("Declined: the tool was not called")
}

func TestADarkScreenIsReadableToo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(asForm)
	b := r.browser()
	run(b, darkness())
	b.login("ann", link(row)).sees("Which ticket")
	b.shoot("dark-form")
	b.open("/").sees("Connect a client")
	b.shoot("dark-home")
}

// darkness makes the browser prefer dark pages.
func darkness() chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return chromedp.Void{}, err
	}
}

func TestAViolationOfTheContentSecurityPolicyIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.browser().open("/login").sees("API token")
	run(b, chromedp.Evaluate[bool](`document.body.setAttribute("style", "color: red") === undefined`))
	testkit.Eventually(t, within, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.complaints) == 1 && strings.Contains(b.complaints[0], "Content Security Policy")
	}, "the browser complains")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = nil
}
