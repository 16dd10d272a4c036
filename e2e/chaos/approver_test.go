package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const (
	lookEvery  = 250 * time.Millisecond
	formKind   = "application/x-www-form-urlencoded"
	jsonKind   = "application/json"
	pathPauses = "/api/v1/approvals"
)

// approvers are the people: they see what waits by the API, think, and decide there or on the page. One that gets no answer asks again,
// and always says the same.
type approvers struct {
	plans map[string]planned
	api   *http.Client
	pages func() *http.Client // a browser that nobody has logged in
	token string

	mu     sync.Mutex
	faults []error
}

// decideAll decides until the context ends.
func (a *approvers) decideAll(ctx context.Context) {
	var deciding sync.WaitGroup
	defer deciding.Wait()
	seen := map[string]bool{}
	for wait(ctx, lookEvery) {
		var found struct{ Items []struct{ ID string } }
		if read(ctx, a.api, pathPauses+"?pageSize=100", &found) != nil {
			continue
		}
		for _, each := range found.Items {
			if !seen[each.ID] {
				seen[each.ID] = true
				deciding.Go(func() { a.decide(ctx, each.ID) })
			}
		}
	}
}

// pauseView is what the API shows of a pause.
type pauseView struct {
	Arguments struct{ Name string }
	State     string
	Decision  *struct{ Action approval.Action }
}

func (a *approvers) decide(ctx context.Context, id string) {
	var view pauseView
	for read(ctx, a.api, pathPauses+"/"+id, &view) != nil {
		if !wait(ctx, lookEvery) {
			return
		}
	}
	plan, known := a.plans[view.Arguments.Name]
	if !known {
		a.fault(fmt.Errorf("%s asks for a call that nobody has planned", id))
		return
	}
	if !wait(ctx, plan.thinks) {
		return
	}
	random := rand.New(rand.NewPCG(uint64(plan.thinks), 1))
	browser := a.pages()
	for {
		done, err := a.say(ctx, browser, id, plan)
		if err != nil && ctx.Err() == nil {
			a.fault(err)
			return
		}
		if done || !wait(ctx, between(random, lookEvery, 2*lookEvery)) {
			return
		}
	}
}

// say decides, and reports whether that is acknowledged. An error is an answer that there should not be.
func (a *approvers) say(ctx context.Context, browser *http.Client, id string, plan planned) (bool, error) {
	if plan.byPage {
		return a.sayOnPage(ctx, browser, id, plan.action())
	}
	body, err := json.Marshal(map[string]approval.Action{"action": plan.action()})
	if err != nil {
		return false, err
	}
	got, err := exchange(ctx, a.api, anywhere+pathPauses+"/"+id+"/decision", body, jsonKind)
	if err != nil || got.status >= http.StatusInternalServerError || got.status == http.StatusTooManyRequests {
		return false, nil //nolint:nilerr // it is asked again
	}
	var view pauseView
	if got.status != http.StatusOK || json.Unmarshal(got.body, &view) != nil || view.Decision == nil || view.Decision.Action != plan.action() {
		return false, fmt.Errorf("decision on %s is answered with %d: %s", id, got.status, got.body)
	}
	return true, nil
}

var guardField = regexp.MustCompile(`name="guard" value="([^"]+)"`)

// sayOnPage opens the page, logs in where it is asked to, presses a button, and looks at what the page shows then.
func (a *approvers) sayOnPage(ctx context.Context, browser *http.Client, id string, action approval.Action) (bool, error) {
	path := anywhere + "/resume/" + id
	page, err := exchange(ctx, browser, path, nil, "")
	if err != nil {
		return false, nil //nolint:nilerr // it is opened again
	}
	if page.status == http.StatusSeeOther {
		form := url.Values{"token": {a.token}, "return": {"/resume/" + id}}.Encode()
		_, _ = exchange(ctx, browser, anywhere+"/login", []byte(form), formKind) // the page tells whether it worked
		return false, nil
	}
	guard := guardField.FindSubmatch(page.body)
	if guard == nil {
		return a.shown(ctx, id, action, false)
	}
	form := url.Values{"guard": {string(guard[1])}, "action": {string(action)}}.Encode()
	pressed, err := exchange(ctx, browser, path, []byte(form), formKind)
	switch {
	case err != nil, pressed.status >= http.StatusInternalServerError:
		return false, nil //nolint:nilerr // it is pressed again
	case pressed.status != http.StatusSeeOther || !strings.HasPrefix(pressed.location, "/resume/"):
		return false, fmt.Errorf("button of %s is answered with %d %s: %s", id, pressed.status, pressed.location, pressed.body)
	default:
		return a.shown(ctx, id, action, true)
	}
}

// shown reports whether a decision is shown. One that was acknowledged is shown from then on.
func (a *approvers) shown(ctx context.Context, id string, action approval.Action, acknowledged bool) (bool, error) {
	var view pauseView
	for read(ctx, a.api, pathPauses+"/"+id, &view) != nil {
		if !wait(ctx, lookEvery) {
			return false, nil
		}
	}
	switch {
	case view.Decision != nil && view.Decision.Action == action:
		return true, nil
	case view.Decision != nil || acknowledged:
		return false, fmt.Errorf("%s of %s was acknowledged, and it is %s: %+v", action, id, view.State, view.Decision)
	default:
		return false, nil
	}
}

func (a *approvers) fault(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, err)
}

// newBrowser keeps cookies and goes nowhere by itself.
func newBrowser(transport http.RoundTripper) *http.Client {
	jar, _ := cookiejar.New(nil) // never fails
	return &http.Client{
		Transport: transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
