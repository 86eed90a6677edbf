import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './scripts/test-sequencer.ts'

// One Postgres for all tests of the server; not started when none of them runs.
const globalSetup = ['server/src/testing/global-setup.ts'].filter((path) => existsSync(path))

// A machine under load takes many times longer than a quiet one. A test that fails ends immediately, so only a test that hangs waits for these limits.
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }
/** These tests mostly wait for programs that they start and end, so two cores have time for a third file. */
const partsWorkers = 3
const wholeSystems = { ...patient, testTimeout: 400_000, hookTimeout: 400_000 }

// Full matrices and long samples: `npm run test:full`.
const full = {
  test: {
    ...wholeSystems,
    name: 'full',
    include: ['e2e/full/*.test.ts'],
    maxWorkers: 1,
    sequence: { groupOrder: 3 },
  },
}

// On a cluster: `npm run test:kubernetes`.
const kubernetes = {
  test: { ...wholeSystems, name: 'kubernetes', include: ['e2e/kubernetes/*.test.ts'], maxWorkers: 1 },
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
          maxWorkers: partsWorkers,
          ...patient,
        },
      },
      {
        test: {
          name: 'server',
          include: ['server/**/*.test.ts'],
          maxWorkers: partsWorkers,
          // A worker loads the server once, not once for each file: its state belongs to an App, and each file opens its own.
          isolate: false,
          globalSetup,
          ...patient,
        },
      },
      {
        test: { ...wholeSystems, name: 'e2e', include: ['e2e/*.test.ts'], sequence: { groupOrder: 1 } },
      },
      {
        test: {
          ...wholeSystems,
          name: 'console',
          include: ['e2e/console/**/*.test.ts'],
          globalSetup: ['e2e/console/global-setup.ts'],
          setupFiles: ['e2e/console/violations.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Variants of faults, attacks and long waits: `npm run test:slow`, which CI runs after `npm test`.
        test: {
          ...wholeSystems,
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
