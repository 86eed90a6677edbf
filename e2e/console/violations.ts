import { afterEach, expect } from 'vitest'
import { policyViolations } from '../support/browser.ts'

// vitest loads this file before each test file of the console. A test fails if its pages violate their content security policy.
afterEach(() => expect(policyViolations.splice(0)).toEqual([]))
