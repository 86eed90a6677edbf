import { certificateKeyContext } from './maintain.ts'
import { accountContext } from './authority.ts'

/** The columns of this module with sealed values, for the rotation of the key of the installation. */
export const sealedCertificateColumns = [
  {
    table: 'acme_accounts',
    key: ['directory_url'],
    column: 'sealed_key',
    contextOf: ([directoryUrl = '']: string[]) => accountContext(directoryUrl),
  },
  {
    table: 'certificates',
    key: ['name'],
    column: 'sealed_key',
    contextOf: ([name = '']: string[]) => certificateKeyContext(name),
  },
]
