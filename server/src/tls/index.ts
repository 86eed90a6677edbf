export { openTlsPorts, type TlsPorts } from './tls-ports.ts'
