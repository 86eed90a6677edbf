import type { Contract, PayloadInputOf } from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { createOrgList } from './org-list.ts'
import { cacheFor } from '../../collections/cache-for.ts'
import { createSquidList } from './squid-list.ts'
import { readUsage } from './usage-store.ts'

type Orgs = PayloadInputOf<Contract['operators']['listOrgs']>['orgs']
type Squids = PayloadInputOf<Contract['operators']['listSquids']>['squids']

const usageOf = (app: App) => cacheFor(app, minutes(0.5), () => readUsage(app, app.clock.now()))

/** Returns all organizations that the operator's console lists for this search, sorted by name. */
export async function listAllOrgs(app: App, search: string): Promise<Orgs> {
  const list = createOrgList(app, usageOf(app))
  return await allPages(async (offset) => (await list({ search, offset })).orgs)
}

/** Returns all versions that the operator's console lists for this search, sorted by organization. */
export async function listAllSquids(app: App, search: string): Promise<Squids> {
  const list = createSquidList(app, usageOf(app))
  return await allPages(async (offset) => (await list({ search, sort: 'organization', order: 'asc', offset })).squids)
}

async function allPages<T>(readPage: (offset: number) => Promise<T[]>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const page = await readPage(all.length)
    if (page.length === 0) return all
    all.push(...page)
  }
}
