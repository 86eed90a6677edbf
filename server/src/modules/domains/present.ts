import type { Contract, PayloadInputOf } from '@shoal/contract'
import { proofName, type RecordCheck } from './check-dns.ts'
import { plannedCheck } from './check-domains.ts'
import type { CertificateState } from '../certificates/index.ts'
import type { DomainRow } from './store.ts'

type PresentedDomain = PayloadInputOf<Contract['domains']['check']>
type DomainContext = { gatewayName: string; certificate: CertificateState | undefined; now: Date }

const unchecked = { state: 'WAITING', problem: null } as const

/**
 * Presents a domain with the records to set and the results of the last check. `certificate`: undefined for a domain that has
 * none.
 */
export function presentDomain(row: DomainRow, { gatewayName, certificate, now }: DomainContext): PresentedDomain {
  const { name, squidName: squid, tag, isActive, checkedAt, createdAt, proof, recordChecks } = row
  const problem = row.problem ?? (isActive ? (certificate?.lastError ?? null) : null)
  const isServed = isActive && Number(certificate?.notAfter ?? 0) > now.getTime()
  const isBroken = isActive ? !isServed && problem !== null : row.provenAt !== null
  const record = (type: 'CNAME' | 'TXT', host: string, value: string, check: RecordCheck | undefined) => ({
    type,
    name: host,
    value,
    ...(check ?? unchecked),
  })
  return {
    name,
    squid,
    tag,
    state: isBroken ? 'FAILED' : isServed ? 'ACTIVE' : isActive ? 'ISSUING' : 'WAITING_FOR_DNS',
    problem,
    records: [
      record('CNAME', name, gatewayName, recordChecks?.target),
      record('TXT', proofName(name), proof, recordChecks?.proof),
    ],
    certificate: certificate
      ? { expiresAt: certificate.notAfter, problem: certificate.lastError, nextOrderAt: certificate.nextOrderAt }
      : null,
    checkedAt,
    nextCheckAt: plannedCheck(row, now),
    createdAt,
  }
}
