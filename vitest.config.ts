import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './scripts/test-sequencer.ts'

// Starts one Postgres for all tests of the server, and none if vitest runs no such test.
const globalSetup = ['server/src/testing/global-setup.ts'].filter((path) => existsSync(path))

// Generous, because a machine under load takes many times longer than an idle one. Only a test that hangs reaches these limits.
const timeLimits = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }
// These tests mostly wait for programs that they start and end, so two cores can run three test files at the same time.
const maxWorkersPerProject = 3
const systemTimeLimits = { ...timeLimits, testTimeout: 400_000, hookTimeout: 400_000 }

// `npm run test:full`: full matrices and long samples.
const full = {
  test: {
    ...systemTimeLimits,
    name: 'full',
    include: ['e2e/full/*.test.ts'],
    maxWorkers: 1,
    sequence: { groupOrder: 3 },
  },
}

// `npm run test:kubernetes`: tests on a cluster.
const kubernetes = {
  test: { ...systemTimeLimits, name: 'kubernetes', include: ['e2e/kubernetes/*.test.ts'], maxWorkers: 1 },
}

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{contract,runtime,console}/**/*.test.{ts,tsx}', 'scripts/**/*.test.ts'],
          maxWorkers: maxWorkersPerProject,
          ...timeLimits,
        },
      },
      {
        test: {
          name: 'server',
          include: ['server/**/*.test.ts'],
          maxWorkers: maxWorkersPerProject,
          // Each worker loads the server's code only once. Test files can share it, because all state belongs to an App, and each file opens its own.
          isolate: false,
          globalSetup,
          ...timeLimits,
        },
      },
      {
        test: { ...systemTimeLimits, name: 'e2e', include: ['e2e/*.test.ts'], sequence: { groupOrder: 1 } },
      },
      {
        test: {
          ...systemTimeLimits,
          name: 'console',
          include: ['e2e/console/**/*.test.ts'],
          globalSetup: ['e2e/console/global-setup.ts'],
          setupFiles: ['e2e/console/violations.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        // `npm run test:slow`, which CI runs after `npm test`: variants of faults, attacks and long waits.
        test: {
          ...systemTimeLimits,
          name: 'slow',
          include: ['e2e/{slow,hostile}/*.test.ts'],
          sequence: { groupOrder: 2 },
        },
      },
      ...(process.env['SHOAL_TEST_FULL'] === 'true' ? [full] : []),
      ...(process.env['SHOAL_TEST_SUITES'] === 'kubernetes' ? [kubernetes] : []),
    ],
  },
})
