import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureBrowser } from './browser.ts'
import { checksBesideTests, runChecks } from './checks.ts'
import { endCommandsOnSignal, runCommand } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { makeOpenFolder } from './open-folder.ts'

type Counts = { passed: number; failed: number; skipped: number }

/** What vitest's JSON reporter writes, as far as it matters here. */
type Report = {
  success: boolean
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: { status: string; assertionResults: unknown[] }[]
}

/** The TMPDIR of all tests: nothing stays behind in it, nor any process that has to do with it. A short name: sockets in it have little room. */
const folder = makeOpenFolder('st-')
const counts: Counts = { passed: 0, failed: 0, skipped: 0 }

async function runTests(args: string[]): Promise<void> {
  const reportFile = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const env = { ...process.env, TMPDIR: folder }
  const { code } = await runCommand('vitest', ['run', ...reporters, ...args], { env, isShown: true })
  const failedBefore = counts.failed
  countTests(reportFile)
  // An error outside of any test, or vitest itself broke down.
  if (code !== 0 && counts.failed === failedBefore) counts.failed++
}

function countTests(reportFile: string): void {
  try {
    const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report
    // A file that cannot even be loaded has no tests to count.
    const broken = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
    counts.passed += report.numPassedTests
    counts.failed += report.numFailedTests + broken.length
    counts.skipped += report.numPendingTests + report.numTodoTests
  } catch (error) {
    console.error(`There is no report of the tests: ${(error as Error).message}`)
  }
}

async function failOnLeftovers(): Promise<void> {
  const leftovers = await endLeftovers(folder)
  if (leftovers.length === 0) return
  counts.failed++
  console.error(
    '✗ The tests left processes behind (now ended). Whoever starts one must end it, also when a test fails:',
  )
  for (const { pid, commandLine } of leftovers) console.error(`  ${pid} ${commandLine}`)
}

/** Something the tests need. Without it they still run: those that need it say so, and the rest is worth knowing. */
async function prepare(ensure: () => Promise<void>): Promise<void> {
  try {
    await ensure()
  } catch (error) {
    counts.failed++
    console.error((error as Error).message)
  }
}

async function check(): Promise<void> {
  const { passed, failed } = await runChecks(checksBesideTests)
  counts.passed += passed
  counts.failed += failed
}

/** `npm test` runs everything; `npm test -- PATH…` those tests alone. Other arguments are vitest's. */
async function main(args: string[]): Promise<void> {
  const isWhole = args.length === 0
  if (isWhole || args.some((arg) => arg.startsWith('e2e'))) {
    await prepare(ensureConsole)
    await prepare(ensureBrowser)
  }
  if (isWhole) await check()
  await runTests(args)
  await failOnLeftovers()
}

endCommandsOnSignal(() => {
  endProcessesOf(folder)
  rmSync(folder, { recursive: true, force: true })
})
await main(process.argv.slice(2))
rmSync(folder, { recursive: true, force: true })
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exitCode = counts.failed > 0 ? 1 : 0
