import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'

let database: Database
// Postgres ends the connection of a statement that alters a database whose drop was interrupted.
const fatalStatement = 'alter database pool_interrupted is_template false'
beforeAll(async () => {
  database = await emptyDatabase()
  await database.pool.query('create database pool_interrupted')
  await database.pool.query(`update pg_database set datconnlimit = -2 where datname = 'pool_interrupted'`)
})
afterAll(async () => {
  await database?.pool.query('drop database if exists pool_interrupted')
  await database?.close()
})

test('after an error with which Postgres ends the connection, the next query uses another one', async () => {
  for (let i = 0; i < 20; i++) {
    await expect(database.pool.query(fatalStatement)).rejects.toThrow('cannot alter invalid database')
    expect((await database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  }
})

test('a client with such an error is not used again after its release', async () => {
  for (let i = 0; i < 20; i++) {
    const client = await database.pool.connect()
    await expect(client.query(fatalStatement)).rejects.toThrow('cannot alter invalid database')
    client.release()
    expect((await database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  }
})
