import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { checksBesideTests, runChecks } from './checks.ts'
import { endCommandsOnSignal, runCommand } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { debianPackages, ensurePackages } from './debian-packages.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { makeOpenFolder } from './open-folder.ts'
import { installClient } from './public-client.ts'
import { root } from './root.ts'
import { installTestData } from './test-data.ts'
import { hostLines, readReport } from './test-report.ts'
import { installTestSquid } from './test-squid.ts'
import { readTimes, timeTable } from './test-times.ts'
import { installTestToolchain } from './test-toolchain.ts'

/** TMPDIR of all tests, deleted at the end with the processes that still use it. Its name is short, since socket paths are limited. */
const folder = makeOpenFolder('st-')
const counts = { passed: 0, failed: 0, skipped: 0 }
const toolchain = join(folder, 'toolchain')
const squid = join(folder, 'squid')
const data = join(folder, 'data')
const hosts = join(folder, 'hosts')
const times = join(folder, 'times')

/** Suites that take too long for every push; `npm run test:full` runs them. */
const longSuites = [
  'server/src/modules/deployments/resume.test.ts',
  'e2e/kill.test.ts',
  'e2e/roles.test.ts',
  'e2e/full',
  'e2e/console',
]

async function runTests(args: string[]): Promise<void> {
  const reportFile = join(folder, 'report.json')
  const timesReporter = `--reporter=${join(root, 'scripts/test-times-reporter.ts')}`
  const reporters = ['--reporter=default', timesReporter, '--reporter=json', `--outputFile.json=${reportFile}`]
  const env = {
    ...process.env,
    TMPDIR: folder,
    // Tests start hundreds of processes from the same sources; the cache lets them compile each source only once.
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
    SHOAL_TEST_TOOLCHAIN: toolchain,
    SHOAL_TEST_SQUID: squid,
    SHOAL_TEST_DATA: data,
    SHOAL_TEST_HOSTS: hosts,
    SHOAL_TEST_TIMES: times,
  }
  const { code } = await runCommand('vitest', ['run', ...reporters, ...args], { env, isShown: true })
  const failedBefore = counts.failed
  countTests(reportFile, args)
  // An error outside of any test, or a crash of vitest itself.
  if (code !== 0 && counts.failed === failedBefore) counts.failed++
}

function countTests(reportFile: string, args: string[]): void {
  try {
    const { passed, failed, skipped, skippedNames } = readReport(reportFile)
    counts.passed += passed
    counts.failed += failed
    counts.skipped += skipped
    // With -t, tests that do not match its pattern count as skipped.
    if (!args.includes('-t')) for (const name of skippedNames) console.log(`Skipped: ${name}`)
  } catch (error) {
    console.error(`There is no report of the tests: ${(error as Error).message}`)
  }
}

function reportHosts(): void {
  const lines = hostLines(hosts)
  for (const line of lines) console.log(`Ran with: ${line}`)
  if (process.getuid?.() !== 0 || !lines.some((line) => line.includes('bubblewrap is missing'))) return
  counts.failed++
  console.error('✗ Tests of the sandbox ran without one, though root can install it: apt-get install bubblewrap')
}

async function failOnLeftovers(): Promise<void> {
  const leftovers = await endLeftovers(folder)
  if (leftovers.length === 0) return
  counts.failed++
  console.error(
    '✗ The tests left processes behind (now ended). The test that starts one must end it, also when it fails:',
  )
  for (const { pid, commandLine } of leftovers) console.error(`  ${pid} ${commandLine}`)
}

/** Prepares a prerequisite of tests. If this fails, the tests still run: those that need it report it, the others are unaffected. */
async function prepare(ensure: () => Promise<unknown>): Promise<void> {
  try {
    await ensure()
  } catch (error) {
    counts.failed++
    console.error((error as Error).message)
  }
}

/** Installs Debian packages, and reports those it could not install. Without a browser, returns the arguments that exclude its tests. */
async function preparePackages(names: string[]): Promise<string[]> {
  const missing = await ensurePackages(names)
  for (const { sentence, isFailure } of missing) {
    console.error(`${isFailure ? '✗ ' : ''}${sentence}${isFailure ? '' : ' Tests that need it are skipped.'}`)
    if (isFailure) counts.failed++
  }
  if (!missing.some(({ name, isFailure }) => name === 'chromium' && !isFailure)) return []
  for (const file of globSync('e2e/console/*.test.ts', { cwd: root })) {
    counts.skipped++
    console.log(`Skipped: ${file} (there is no browser)`)
  }
  return ['--exclude', 'e2e/console/**', '--passWithNoTests']
}

/** Prepares everything that tests below these paths need, before the first one starts. Returns additional arguments for vitest. */
async function prepareFor(paths: string[]): Promise<string[]> {
  const includes = (part: string) => paths.length === 0 || paths.some((path) => path.startsWith(part))
  if (!includes('e2e') && !includes('runtime')) return []
  const extraArgs = await preparePackages(includes('e2e') ? debianPackages.map(({ name }) => name) : ['bubblewrap'])
  await prepare(() => installTestToolchain(toolchain))
  if (includes('e2e')) {
    await prepare(() => installTestSquid(squid, toolchain))
    await prepare(() => installTestData(data))
    await prepare(ensureConsole)
    await prepare(installClient)
  }
  return extraArgs
}

async function check(): Promise<void> {
  const { passed, failed } = await runChecks(checksBesideTests)
  counts.passed += passed
  counts.failed += failed
}

/** `npm test` runs everything; `npm test -- PATH…` only the tests below these paths. Other arguments are passed to vitest. */
async function main(args: string[]): Promise<void> {
  const isUnfiltered = args.length === 0
  const extraArgs = await prepareFor(args)
  if (isUnfiltered) await check()
  await runTests([...args, ...extraArgs])
  reportHosts()
  for (const line of timeTable(readTimes(times))) console.log(line)
  await failOnLeftovers()
}

endCommandsOnSignal(() => {
  endProcessesOf(folder)
  rmSync(folder, { recursive: true, force: true })
})
const cliArgs = process.argv.slice(2)
const isFull = process.env['SHOAL_TEST_FULL'] === 'true'
await main(cliArgs.length === 0 && isFull ? longSuites : cliArgs)
rmSync(folder, { recursive: true, force: true })
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exitCode = counts.failed > 0 ? 1 : 0
