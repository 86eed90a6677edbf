import { maxDomains, type Contract, type PayloadInputOf } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { invalid, invalidField, notFound, refuse } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { certificateStates } from '../certificates/index.ts'
import { proofName } from './check-dns.ts'
import { releaseDomain } from './check-domains.ts'
import { normalizeDomain } from './domain-name.ts'
import { gatewayNameOf } from './gateway-name.ts'
import { insertDomain, listDomains, selectDomain, squidExists, updateDomain, type DomainRow } from './store.ts'

export function domainsHandlers(app: App): Handlers<Contract['domains']> {
  const { db, clock, config } = app
  const ownNames = config.tls?.ownNames ?? []
  const gatewayName = gatewayNameOf(config)
  const certificatesOf = (rows: DomainRow[]) =>
    certificateStates(
      db,
      rows.filter(({ isActive }) => isActive).map(({ name }) => name),
    )
  const present = async (row: DomainRow) => presentDomain(row, gatewayName, (await certificatesOf([row])).get(row.name))
  const getDomain = async (orgId: number, name: string): Promise<DomainRow> => {
    const row = await selectDomain(db, orgId, name.toLowerCase().replace(/\.$/, ''))
    if (!row) throw notFound('Domain')
    return row
  }
  return {
    list: async ({ org }) => {
      const rows = await listDomains(db, org.id)
      const certificates = await certificatesOf(rows)
      return rows.map((row) => presentDomain(row, gatewayName, certificates.get(row.name)))
    },
    add: async ({ org, body, request }) => {
      if (config.tls?.source.kind !== 'acme')
        throw refuse(
          'NO_DOMAINS',
          'This installation does not order certificates, so it serves no domains of its users.',
        )
      const name = normalizeDomain(body.name, ownNames)
      if (!(await squidExists(db, org.id, body.squid))) throw invalidField('squid', `There is no squid ${body.squid}.`)
      if ((await listDomains(db, org.id)).length >= maxDomains)
        throw refuse('TOO_MANY_DOMAINS', `An organization can have ${maxDomains} domains. Remove one first.`)
      const now = clock.now()
      const proof = `shoal-domain=${randomBytes(18).toString('base64url')}`
      const { squid: squidName, tag } = body
      const domain = { orgId: org.id, name, squidName, tag, proof, nextCheckAt: now, createdAt: now }
      const row = await insertDomain(db, domain)
      if (!row) throw invalid('DOMAIN_EXISTS', `${name} has been added already.`)
      request.audit({ subject: name, after: { squid: squidName, tag } })
      return await present(row)
    },
    check: async ({ org, params, request }) => {
      const row = await getDomain(org.id, params.name)
      await updateDomain(db, row, { nextCheckAt: clock.now() })
      request.audit({ subject: row.name })
      return await present(row)
    },
    remove: async ({ org, params, request }) => {
      const row = await getDomain(org.id, params.name)
      await releaseDomain(app, row)
      request.audit({ subject: row.name, before: { squid: row.squidName, tag: row.tag } })
      return null
    },
  }
}

type PresentedDomain = PayloadInputOf<Contract['domains']['check']>
type Certificate = { isIssued: boolean; lastError: string | null }

function presentDomain(row: DomainRow, gatewayName: string, certificate: Certificate | undefined): PresentedDomain {
  const { name, squidName: squid, tag, isActive, checkedAt, createdAt, proof } = row
  const problem = row.problem ?? (isActive ? (certificate?.lastError ?? null) : null)
  const isBroken = isActive ? certificate?.isIssued !== true && problem !== null : row.provenAt !== null
  const working = certificate?.isIssued === true ? 'ACTIVE' : 'ISSUING'
  const records = [
    { type: 'CNAME' as const, name, value: gatewayName },
    { type: 'TXT' as const, name: proofName(name), value: proof },
  ]
  const state = isBroken ? 'FAILED' : isActive ? working : 'WAITING_FOR_DNS'
  return { name, squid, tag, state, problem, records, checkedAt, createdAt }
}
