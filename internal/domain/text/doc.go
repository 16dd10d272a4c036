// Package text shortens what is shown to people, and makes visible what they would not see.
//
// Workflow code uses Clip: the result depends on the arguments alone, and what was recorded with one release must come out the same with
// the next. Visible is for what shows text: what it takes for hidden grows with Unicode.
package text
