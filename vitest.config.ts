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
    sequence: { groupOrder: 3 },
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
        // Whole systems with builds: one after the other, when the machine is free of the rest.
        test: {
          name: 'e2e',
          include: ['e2e/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        // Each with a server and a browser of its own, which wait more than they work.
        test: {
          name: 'console',
          include: ['e2e/console/*.test.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      ...(process.env['SHOAL_TEST_FULL'] === 'true' ? [full] : []),
    ],
  },
})
