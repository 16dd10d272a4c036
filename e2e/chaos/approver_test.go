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
	status, answer, err := exchange(ctx, a.api, http.MethodPost, anywhere+pathPauses+"/"+id+"/decision", body, jsonKind)
	if err != nil || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return false, nil //nolint:nilerr // it is asked again
	}
	var view pauseView
	if status != http.StatusOK || json.Unmarshal(answer, &view) != nil || view.Decision == nil || view.Decision.Action != plan.action() {
		return false, fmt.Errorf("decision on %s is answered with %d: %s", id, status, answer)
	}
	return true, nil
}

var guardField = regexp.MustCompile(`name="guard" value="([^"]+)"`)

// sayOnPage opens the page, logs in where it is asked to, and presses a button.
func (a *approvers) sayOnPage(ctx context.Context, browser *http.Client, id string, action approval.Action) (bool, error) {
	path := anywhere + "/resume/" + id
	status, page, err := exchange(ctx, browser, http.MethodGet, path, nil, "")
	if err != nil {
		return false, nil //nolint:nilerr // it is opened again
	}
	if status == http.StatusSeeOther {
		form := url.Values{"token": {a.token}, "return": {"/resume/" + id}}.Encode()
		_, _, _ = exchange(ctx, browser, http.MethodPost, anywhere+"/login", []byte(form), formKind) // the page tells whether it worked
		return false, nil
	}
	guard := guardField.FindSubmatch(page)
	if guard == nil {
		// It is decided, by an answer that was lost on the way.
		var view pauseView
		if read(ctx, a.api, pathPauses+"/"+id, &view) != nil || view.Decision == nil {
			return false, nil
		}
		if view.Decision.Action != action {
			return false, fmt.Errorf("%s was decided otherwise: %s", id, view.Decision.Action)
		}
		return true, nil
	}
	form := url.Values{"guard": {string(guard[1])}, "action": {string(action)}}.Encode()
	status, page, err = exchange(ctx, browser, http.MethodPost, path, []byte(form), formKind)
	switch {
	case err != nil, status >= http.StatusInternalServerError:
		return false, nil //nolint:nilerr // it is pressed again
	case status != http.StatusSeeOther:
		return false, fmt.Errorf("button of %s is answered with %d: %s", id, status, page)
	default:
		return true, nil
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
