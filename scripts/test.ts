import { appendFileSync, existsSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { checksWithoutTests, runChecks } from './checks.ts'
import { endCommandsOnSignal, runCommand } from './command.ts'
import { ensureConsole } from './console-build.ts'
import { debianPackages, ensurePackages } from './debian-packages.ts'
import { endCluster } from './kubernetes/cluster.ts'
import { closeTestCluster, openTestCluster } from './kubernetes/test-cluster.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { makeMemoryFolder, makeFolderForAllUsers } from './temporary-folders.ts'
import { installClient } from './public-client.ts'
import { root } from './root.ts'
import { startOperator } from './operator.ts'
import { ensurePebble } from './pebble.ts'
import { ensureS3Server } from './s3-server.ts'
import { createTestData } from './test-data.ts'
import { isolationLines, readReport } from './test-report.ts'
import { installTestSquid } from './test-squid.ts'
import {
  clusterS3Suites,
  fullClusterSuites,
  fullPebbleSuites,
  fullSuites,
  pebbleSuites,
  quickClusterSuites,
  quickTests,
  s3Suites,
  slowSuites,
} from './test-suites.ts'
import { splitArguments } from './test-arguments.ts'
import { readTimes, timeTable } from './test-times.ts'
import { installTestToolchain } from './test-toolchain.ts'

/** TMPDIR of all tests. At the end, this script kills the processes that still use it, and deletes it. Its name is short, because the length of socket paths is limited. */
const folder = makeFolderForAllUsers('st-')
const memoryFolder = makeMemoryFolder('st-')
const folders = memoryFolder ? [folder, memoryFolder] : [folder]
const counts = { passed: 0, skipped: 0 }
/** One message for each failure, for the summary at the end of the output. */
const failures: string[] = []
const shownFailures = 30
const toolchain = join(folder, 'toolchain')
const squid = join(folder, 'squid')
const data = join(folder, 'data')
const isolation = join(folder, 'isolation')
const times = join(folder, 'times')
/** The socket of the process that runs commands of the operator (`operator.ts`). */
const operator = join(folder, 'operator')
let endOperator: (() => Promise<void>) | null = null

/** The environment of all processes of tests. */
const processEnv = {
  ...process.env,
  TMPDIR: folder,
  // Tests start hundreds of processes from the same sources. With the cache, they compile each source only once.
  NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
}

function fail(message: string): void {
  failures.push(message)
  console.error(`✗ ${message}`)
}

async function runTests(args: string[], extraEnv: Record<string, string> = {}): Promise<void> {
  const reportFile = join(folder, 'report.json')
  const timesReporter = `--reporter=${join(root, 'scripts/test-times-reporter.ts')}`
  const reporters = ['--reporter=default', timesReporter, '--reporter=json', `--outputFile.json=${reportFile}`]
  const env = {
    ...processEnv,
    SHOAL_TEST_TOOLCHAIN: toolchain,
    SHOAL_TEST_SQUID: squid,
    SHOAL_TEST_DATA: data,
    SHOAL_TEST_ISOLATION: isolation,
    SHOAL_TEST_TIMES: times,
    ...(memoryFolder ? { SHOAL_TEST_MEMORY: memoryFolder } : {}),
    ...(endOperator ? { SHOAL_TEST_OPERATOR: operator } : {}),
    ...extraEnv,
  }
  const { code } = await runCommand('vitest', ['run', ...reporters, ...args], { env, inheritsOutput: true })
  const countBefore = failures.length
  countTests(reportFile, args)
  if (code !== 0 && failures.length === countBefore)
    fail(`vitest ended with code ${code}: an error occurred outside of the tests, or vitest crashed.`)
}

function countTests(reportFile: string, args: string[]): void {
  try {
    const { passed, failures: failed, skipped, skippedNames } = readReport(reportFile)
    counts.passed += passed
    counts.skipped += skipped
    failures.push(...failed)
    // With -t, tests that do not match its pattern count as skipped.
    if (!args.includes('-t')) for (const name of skippedNames) console.log(`Skipped: ${name}`)
  } catch (error) {
    console.error(`The test report cannot be read: ${(error as Error).message}`)
  }
}

function reportIsolation(): void {
  const lines = isolationLines(isolation)
  for (const line of lines) console.log(`Ran with: ${line}`)
  if (process.getuid?.() !== 0 || !lines.some((line) => line.includes('bubblewrap is missing'))) return
  fail('Tests of the sandbox ran without a sandbox. Root can install it: apt-get install bubblewrap')
}

async function failOnLeftovers(): Promise<void> {
  await endOperator?.()
  endOperator = null
  const leftovers = await endLeftovers(...folders)
  if (leftovers.length === 0) return
  const lines = leftovers.map(({ pid, commandLine }) => `  ${pid} ${commandLine}`)
  const advice = 'A test must end the processes it starts, even when it fails'
  fail(`The tests left processes behind, which have now been killed. ${advice}:\n${lines.join('\n')}`)
}

/** Prepares a prerequisite of tests. If this fails, all tests still run, and those that need it fail. */
async function prepare(ensure: () => Promise<unknown>): Promise<void> {
  try {
    await ensure()
  } catch (error) {
    fail((error as Error).message)
  }
}

/** Installs Debian packages, and reports those that could not be installed. Without a browser, returns the arguments that exclude its tests. */
async function preparePackages(names: string[]): Promise<string[]> {
  const missing = await ensurePackages(names)
  for (const { sentence, isFailure } of missing) {
    if (isFailure) fail(sentence)
    else console.log(`${sentence} Tests that need it are skipped.`)
  }
  if (!missing.some(({ name, isFailure }) => name === 'chromium' && !isFailure)) return []
  const files = globSync('e2e/{console/**/*,slow/connection}.test.ts', { cwd: root })
  for (const file of files) {
    counts.skipped++
    console.log(`Skipped: ${file} (there is no browser)`)
  }
  return [...files.flatMap((file) => ['--exclude', file]), '--passWithNoTests']
}

/** Prepares the prerequisites of the tests below these paths. Returns additional arguments for vitest. */
async function prepareFor(paths: string[]): Promise<string[]> {
  const includesAny = (suites: string[]) =>
    paths.some((path) => suites.some((suite) => path.startsWith(suite) || suite.startsWith(path)))
  if (includesAny([...s3Suites, ...clusterS3Suites])) await prepare(ensureS3Server)
  if (includesAny([...pebbleSuites, ...fullPebbleSuites])) await prepare(ensurePebble)
  const includes = (part: string) => paths.length === 0 || paths.some((path) => path.startsWith(part))
  if (!includes('e2e') && !includes('runtime')) return []
  const extraArgs = await preparePackages(
    includes('e2e')
      ? debianPackages.map(({ name }) => name)
      : ['bubblewrap', 'iproute2', 'nftables', 'passt', 'btrfs-progs', 'docker-registry'],
  )
  // Several suites of one run use the same folder.
  if (existsSync(toolchain)) return extraArgs
  const prepareSquids = async () => {
    await prepare(() => installTestToolchain(toolchain))
    if (includes('e2e')) await prepare(() => installTestSquid(squid, toolchain))
  }
  const prepareOthers = async () => {
    const openOperator = async () => (endOperator = await startOperator(operator, processEnv))
    for (const ensure of [ensureConsole, installClient, () => createTestData(data), openOperator]) await prepare(ensure)
  }
  // Most of these steps wait for downloads or use one core, so two of them run at the same time.
  await Promise.all([prepareSquids(), ...(includes('e2e') ? [prepareOthers()] : [])])
  return extraArgs
}

async function check(): Promise<void> {
  const { passed, failed } = await runChecks(checksWithoutTests)
  counts.passed += passed
  failures.push(...failed.map((name) => `The check "${name}" failed.`))
}

/**
 * Without arguments, runs the checks and all tests except those of the slow suites. With paths, runs only the tests below them, of
 * any project. vitest receives all other arguments.
 */
async function main(args: string[]): Promise<void> {
  const isUnfiltered = args.length === 0
  const kinds = isUnfiltered ? 'first' : args === slowSuites ? 'others' : null
  const extraArgs = await prepareFor(splitArguments(args).paths)
  if (isUnfiltered) await check()
  await runTests([...(isUnfiltered ? quickTests : args), ...extraArgs], kinds ? { SHOAL_TEST_KINDS: kinds } : {})
  reportIsolation()
  for (const line of timeTable(readTimes(times))) console.log(line)
  await failOnLeftovers()
}

/** Runs tests that need a cluster. On a machine that cannot run one, they count as one skipped test. */
async function runOnCluster(args: string[]): Promise<void> {
  try {
    const cluster = await openTestCluster()
    if ('missing' in cluster) {
      counts.skipped++
      console.log(`Skipped: the tests on Kubernetes. ${cluster.missing}`)
      return
    }
    await prepareFor(splitArguments(args).paths)
    await runTests(args, { ...cluster.env, SHOAL_TEST_SUITES: 'kubernetes' })
    for (const line of timeTable(readTimes(times))) console.log(line)
  } catch (error) {
    fail((error as Error).message)
  }
  for (const leftover of closeTestCluster()) fail(`The cluster left behind: ${leftover}`)
  await failOnLeftovers()
}

function removeFolders(): void {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
}

endCommandsOnSignal(() => {
  endCluster()
  endProcessesOf(...folders)
  removeFolders()
})
const cliArgs = process.argv.slice(2)
const suites: Record<string, string[]> = {
  slow: slowSuites,
  full: fullSuites,
  kubernetes: ['e2e/kubernetes'],
  'kubernetes quick': quickClusterSuites,
}
const suite = process.env['SHOAL_TEST_SUITES'] ?? ''
const { paths, options } = splitArguments(cliArgs)
const selected = paths.length === 0 ? [...(suites[suite] ?? []), ...options] : cliArgs
const isOnCluster = (path: string) => path.startsWith('e2e/kubernetes')
if (suite.startsWith('kubernetes') || paths.some(isOnCluster)) await runOnCluster(selected)
else await main(selected)
if (suite === 'full' && paths.length === 0) await runOnCluster([...fullClusterSuites, ...options])
removeFolders()
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
const summary = [
  ...failures.slice(0, shownFailures).map((failure) => `✗ ${failure}`),
  ...(failures.length > shownFailures ? [`… and ${failures.length - shownFailures} more failures`] : []),
  `${counts.passed} passed, ${failures.length} failed${skipped}`,
].join('\n')
console.log(summary)
const summaryFile = process.env['SHOAL_TEST_SUMMARY']
if (summaryFile) appendFileSync(summaryFile, `${summary}\n`)
process.exitCode = failures.length > 0 ? 1 : 0
