import { afterEach, expect } from 'vitest'
import { policyViolations } from '../support/browser.ts'

// A setup file of all tests of the console: each fails if its pages violate their content security policy.
afterEach(() => expect(policyViolations.splice(0)).toEqual([]))
