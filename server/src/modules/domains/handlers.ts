import { maxDomains, type Contract } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { invalid, invalidField, notFound, refuse } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { certificateStates } from '../certificates/index.ts'
import { lockOrg } from '../orgs/index.ts'
import { releaseDomain } from './check-domains.ts'
import { normalizeDomain } from './domain-name.ts'
import { gatewayNameOf } from './gateway-name.ts'
import { presentDomain } from './present.ts'
import { insertDomain, listDomains, selectDomain, squidExists, updateDomain, type DomainRow } from './store.ts'

export function domainsHandlers(app: App): Handlers<Contract['domains']> {
  const { db, clock, config } = app
  const ownNames = config.tls?.ownNames ?? []
  const gatewayName = gatewayNameOf(config)
  const presentAll = async (rows: DomainRow[]) => {
    const names = rows.filter(({ isActive }) => isActive).map(({ name }) => name)
    const certificates = await certificateStates(db, names)
    return rows.map((row) =>
      presentDomain(row, { gatewayName, certificate: certificates.get(row.name), now: clock.now() }),
    )
  }
  const present = async (row: DomainRow) => {
    const [presented] = await presentAll([row])
    if (!presented) throw new Error('no domain was presented')
    return presented
  }
  const getDomain = async (orgId: number, name: string): Promise<DomainRow> => {
    const row = await selectDomain(db, orgId, name.toLowerCase().replace(/\.$/, ''))
    if (!row) throw notFound('Domain')
    return row
  }
  return {
    list: async ({ org }) => ({
      gatewayName: gatewayName === '' ? null : gatewayName,
      domains: await presentAll(await listDomains(db, org.id)),
    }),
    add: async ({ org, body, request }) => {
      if (config.tls?.source.kind !== 'acme')
        throw refuse(
          'NO_DOMAINS',
          'This installation does not order certificates, so it serves no domains of its users.',
        )
      const name = normalizeDomain(body.name, ownNames)
      if (!(await squidExists(db, org.id, body.squid))) throw invalidField('squid', `There is no squid ${body.squid}.`)
      const now = clock.now()
      const proof = `shoal-domain=${randomBytes(18).toString('base64url')}`
      const { squid: squidName, tag } = body
      const domain = { orgId: org.id, name, squidName, tag, proof, nextCheckAt: now, createdAt: now }
      const row = await db.transaction(async (tx) => {
        // The lock prevents concurrent calls from exceeding the limit.
        await lockOrg(tx, org.id)
        if ((await listDomains(tx, org.id)).length >= maxDomains)
          throw refuse('TOO_MANY_DOMAINS', `An organization can have ${maxDomains} domains. Remove one first.`)
        return await insertDomain(tx, domain)
      })
      if (!row) throw invalid('DOMAIN_EXISTS', `${name} has been added already.`)
      request.audit({ subject: name, after: { squid: squidName, tag } })
      return await present(row)
    },
    check: async ({ org, params, request }) => {
      const row = await getDomain(org.id, params.name)
      const nextCheckAt = clock.now()
      await updateDomain(db, row, { nextCheckAt })
      request.audit({ subject: row.name })
      return await present({ ...row, nextCheckAt })
    },
    remove: async ({ org, params, request }) => {
      const row = await getDomain(org.id, params.name)
      await releaseDomain(app, row)
      request.audit({ subject: row.name, before: { squid: row.squidName, tag: row.tag } })
      return null
    },
  }
}
