import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from './root.ts'
import { readReport } from './test-report.ts'

const folder = mkdtempSync(join(tmpdir(), 'report-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a failed test is described with the text of each of its errors and their place in the repository; a file that cannot be loaded is one failure', () => {
  const timeoutError = `locator.click: Timeout 500ms exceeded.
Call log:
\u001b[2m  - waiting for getByRole('button', { name: 'Withdraw' })\u001b[22m

    at async file://${root}/node_modules/vitest/dist/run.js:1:2
    at ${root}/e2e/console/slow/operator.test.ts:3:180`
  const file = join(folder, 'report.json')
  writeFileSync(
    file,
    JSON.stringify({
      numPassedTests: 3,
      numPendingTests: 1,
      numTodoTests: 0,
      testResults: [
        {
          name: `${root}/e2e/console/slow/operator.test.ts`,
          status: 'failed',
          message: '',
          assertionResults: [
            { status: 'passed', fullName: 'passes', failureMessages: [] },
            {
              status: 'failed',
              fullName: 'withdraws',
              failureMessages: [timeoutError, 'Error: The page showed an error.'],
            },
          ],
        },
        { name: `${root}/e2e/other.test.ts`, status: 'failed', message: 'It cannot be loaded.', assertionResults: [] },
      ],
    }),
  )
  expect(readReport(file)).toMatchObject({ passed: 3, skipped: 1 })
  expect(readReport(file).failures).toEqual([
    `e2e/console/slow/operator.test.ts > withdraws: locator.click: Timeout 500ms exceeded.
  Call log:
    - waiting for getByRole('button', { name: 'Withdraw' })
  at e2e/console/slow/operator.test.ts:3:180
  Error: The page showed an error.`,
    'e2e/other.test.ts: It cannot be loaded.',
  ])
})
