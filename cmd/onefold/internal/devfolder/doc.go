// Package devfolder is the folder in which `onefold dev` keeps what it needs:
// the database, the sandbox's ledger, the deployment's secret, the token and the
// secrets of the example connection.
//
// It promises that everything secret is made once, readable by its owner alone,
// and found again at the next start.
package devfolder
