import { expect, test } from 'vitest'
import { causeOf, failureSummary, firstErrorIndex, firstErrorLine } from './failure-text.ts'

const failed = 'SOURCE_FILES_BUILD_FAILED'
const failureReason = [
  'npm run build ended with exit code 2.',
  '> erc20-transfers@1.0.0 build',
  '> tsc',
  "\u001b[31msrc/mapping.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'\u001b[0m",
].join('\n')

test('the text about a failed build contains what failed, the first error and what to do', () => {
  const failure = { failed, failureReason } as const
  expect(failureSummary(failure)).toBe('npm run build ended with exit code 2.')
  expect(firstErrorLine(failure)).toMatch(/^src\/mapping\.ts\(1,7\): error TS2322/)
  expect(causeOf(failure)?.text).toBe(
    "TypeScript does not accept src/mapping.ts, line 1: Type 'string' is not assignable to type 'number' (TS2322). Correct it, check with npm run build, and deploy again.",
  )
  const pretty = "build failed\nsrc/a.ts:3:5 - error TS2304: Cannot find name 'x'."
  expect(causeOf({ failed, failureReason: pretty })?.text).toContain("src/a.ts, line 3: Cannot find name 'x' (TS2304).")
  const missing = "npm run build ended with exit code 1.\nError: Cannot find module 'ethers'"
  expect(causeOf({ failed, failureReason: missing })?.text).toContain('cannot find ethers')
  expect(causeOf({ failed, failureReason: 'npm run build ended with exit code 1.\nno idea' })).toEqual({
    text: expect.stringContaining('Run it in the folder'),
    isSpecific: false,
  })
})

test('other failures have no cause, because their reason already says what to do', () => {
  const failure = {
    failed: 'REQUIREMENTS',
    failureReason: 'This version has no image. Please deploy it again.',
  } as const
  expect(causeOf(failure)).toBeNull()
  expect(firstErrorLine(failure)).toBe(failure.failureReason)
  expect(firstErrorLine({ failed: 'UNEXPECTED', failureReason: null })).toBe('')
})

test('the first error of a log is the first line that reports one', () => {
  const line = (message: string, severity = 'info') => ({ message, severity })
  expect(firstErrorIndex([line('$ npm run error'), line('a'), line('SyntaxError: b'), line('c', 'error')])).toBe(2)
  expect(firstErrorIndex([line('a'), line('b', 'error'), line('error c')])).toBe(1)
  expect(firstErrorIndex([line('a')])).toBe(-1)
})
