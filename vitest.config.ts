import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

// One Postgres for all tests of the server; not started when none of them runs.
const globalSetup = ['server/src/testing/global-setup.ts'].filter((path) => existsSync(path))

// What takes too long for every run: `npm run test:full`.
const full = {
  test: {
    name: 'full',
    include: ['e2e/full/*.test.ts'],
    fileParallelism: false,
    sequence: { groupOrder: 2 },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
}

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{contract,runtime,console}/**/*.test.{ts,tsx}', 'scripts/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'server',
          include: ['server/**/*.test.ts'],
          globalSetup,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Whole systems, two at a time: they wait for servers and squids more than they work.
        test: {
          name: 'e2e',
          include: ['e2e/*.test.ts'],
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'console',
          include: ['e2e/console/*.test.ts'],
          globalSetup: ['e2e/console/global-setup.ts'],
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      ...(process.env['SHOAL_TEST_FULL'] === 'true' ? [full] : []),
    ],
  },
})
