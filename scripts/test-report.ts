import { existsSync, readFileSync } from 'node:fs'

/** The relevant part of the report of vitest's JSON reporter. */
type Report = {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[]
}

export type TestCounts = { passed: number; failed: number; skipped: number; skippedNames: string[] }

/** Counts the tests in a report. @throws if the report does not exist */
export function readReport(file: string): TestCounts {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  // A file that cannot be loaded has no tests, and counts as one failure.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults[0],
  )
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
    skippedNames: results
      .filter(({ status }) => !['passed', 'failed'].includes(status))
      .map(({ fullName }) => fullName),
  }
}

/** Returns one line for each suite that recorded its hosts: `<suite>: <features>; <features of the next host>`. */
export function hostLines(file: string): string[] {
  if (!existsSync(file)) return []
  const suites = new Map<string, Set<string>>()
  for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    const [suite = '', summary = ''] = line.split('\t')
    suites.set(suite, (suites.get(suite) ?? new Set()).add(summary))
  }
  return [...suites]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([suite, summaries]) => `${suite}: ${[...summaries].sort().join('; ')}`)
}
