import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import { connect, type Database } from '../db/database.ts'

export const templateName = 'shoal_template'

/** Creates a database with the whole schema, which `close` drops. `via` changes its URL, for example to the URL of a proxy. */
export const cloneDatabase = (via?: (url: string) => string): Promise<Database> => createDatabase(templateName, via)

/** Creates a database without tables, which `close` drops. */
export const emptyDatabase = (): Promise<Database> => createDatabase('template0')

async function createDatabase(template: string, via = (url: string) => url): Promise<Database> {
  const name = `t_${randomBytes(6).toString('hex')}`
  await asAdmin((admin) => admin.query(`create database ${name} template ${template}`))
  const database = connect(via(urlOf(name)), { max: 10 })
  return {
    ...database,
    close: async () => {
      await database.close()
      await asAdmin((admin) => admin.query(`drop database ${name} with (force)`))
    },
  }
}

const urlOf = (database: string) => inject('postgresUrl').replace('{database}', database)

async function asAdmin(work: (admin: Client) => Promise<unknown>): Promise<void> {
  const admin = new Client(urlOf('postgres'))
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}
