import { domainToASCII } from 'node:url'
import { invalidField } from '../../errors.ts'

/** Top-level domains that never exist in public DNS. */
const nonPublicTopLevels = new Set(['localhost', 'local', 'internal', 'arpa', 'onion', 'lan', 'home', 'corp'])
/** Shorter than a DNS name may be, since `_shoal.` is put in front of it. */
const maxLength = 245

/**
 * Returns a domain in the form of DNS: in lower case, in punycode, without a trailing dot.
 * @throws Refusal 400 for text that is not the name of a public host, and for `ownNames` and their subdomains
 */
export function normalizeDomain(text: string, ownNames: string[]): string {
  const trimmed = text.trim().replace(/\.$/, '')
  // domainToASCII would also accept and change URLs, ports and numbers.
  const isPlain = !/[\s/:@?#\\%[\]*_]/.test(trimmed)
  const name = isPlain ? domainToASCII(trimmed) : ''
  const labels = name.split('.')
  const isHostName = labels.length >= 2 && labels.every((label) => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(label))
  const topLevel = labels.at(-1) ?? ''
  if (!isHostName || name.length > maxLength || /^\d/.test(topLevel) || nonPublicTopLevels.has(topLevel))
    throw invalidField('name', 'Enter the name of a public host, such as api.example.com.')
  if (ownNames.some((own) => name === own || name.endsWith(`.${own}`)))
    throw invalidField('name', 'This name belongs to the installation.')
  return name
}
