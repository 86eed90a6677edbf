import { afterEach, expect } from 'vitest'
import { describeOpenPages, policyViolations } from '../support/browser.ts'

// vitest loads this file before each test file of the console. A test fails if its pages violate their content security policy.
afterEach(() => expect(policyViolations.splice(0)).toEqual([]))

// The error of a failed wait says only what did not appear.
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return
  throw new Error(`The test failed while these pages were open:\n${(await describeOpenPages()).join('\n')}`)
})
