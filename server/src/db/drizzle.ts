import type * as OrmModule from 'drizzle-orm'
import type * as DriverModule from 'drizzle-orm/node-postgres'
import type * as PgModule from 'drizzle-orm/pg-core'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

/**
 * Loads drizzle-orm's CommonJS build. Node parses a package.json again for each ES module that it loads from the package, and the
 * package.json of drizzle-orm is 180 kB long: its ES modules took 0.6 of the 1.5 CPU seconds that a command needs to start.
 * drizzle-kit, which runs in server/, compiles this file without `import.meta`.
 */
const load = createRequire(import.meta.filename ?? resolve('package.json'))

export const orm = load('drizzle-orm') as typeof OrmModule
export const pgCore = load('drizzle-orm/pg-core') as typeof PgModule
export const { drizzle } = load('drizzle-orm/node-postgres') as typeof DriverModule
