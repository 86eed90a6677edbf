import { existsSync, readFileSync } from 'node:fs'

/** What vitest's JSON reporter writes, as far as it matters here. */
type Report = {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[]
}

export type TestCounts = { passed: number; failed: number; skipped: number; skippedNames: string[] }

/** Counts what the report says. @throws when there is none */
export function readReport(file: string): TestCounts {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  // A file that cannot even be loaded has no tests to count.
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

/** A line for each suite that noted its hosts: `<suite>: <what it ran with>; <what else>`. */
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
