import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from './root.ts'

/** The fields of vitest's JSON report that this file uses. */
type Report = {
  numPassedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: {
    /** The path of the test file. */
    name: string
    status: string
    message: string
    assertionResults: { status: string; fullName: string; failureMessages: string[] | null }[]
  }[]
}

export type TestCounts = { passed: number; skipped: number; skippedNames: string[]; failures: string[] }

/** Counts the tests in a report, and describes each failure: its first lines, and where in this repository it occurred. @throws if the file cannot be read */
export function readReport(file: string): TestCounts {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report
  const failures = report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name)
    const failed = assertionResults.filter((result) => result.status === 'failed')
    // A test file that cannot be loaded has no tests, and counts as one failure.
    if (status === 'failed' && failed.length === 0) return [`${file}: ${summarize(message)}`]
    return failed.map(
      ({ fullName, failureMessages }) =>
        `${file} > ${fullName}: ${(failureMessages ?? []).map(summarize).join('\n  ')}`,
    )
  })
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  return {
    passed: report.numPassedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    skippedNames: results
      .filter(({ status }) => !['passed', 'failed'].includes(status))
      .map(({ fullName }) => fullName),
    failures,
  }
}

/** Lines of one error. A failed wait of a browser test lists what it waited for. */
const shownLines = 12

function summarize(message = ''): string {
  const lines = stripVTControlCharacters(message).split('\n')
  const stackStart = lines.findIndex((line) => /^\s+at /.test(line))
  const [text, stack] = stackStart === -1 ? [lines, []] : [lines.slice(0, stackStart), lines.slice(stackStart)]
  const location = stack.find((line) => line.includes(`${root}/`) && !line.includes('node_modules'))
  return [
    ...text.filter((line) => line.trim() !== '').slice(0, shownLines),
    ...(location ? [relativeLocation(location)] : []),
  ]
    .map((line) => line.slice(0, 300))
    .join('\n  ')
}

const relativeLocation = (line: string) => line.trim().replace('file://', '').replace(`${root}/`, '')

/** Returns one line for each suite that recorded how its hosts isolate squids: `<suite>: <features>; <features of the next host>`. */
export function isolationLines(file: string): string[] {
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
