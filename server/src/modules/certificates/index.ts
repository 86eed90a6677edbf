export {
  addName,
  certificateStates,
  findCertificate,
  findChallengeCertificate,
  findKeyAuthorization,
  ownCertificates,
  type CertificateFact,
  type CertificateState,
} from './find.ts'
export { sealedCertificateColumns, startCertificates } from './maintain.ts'
export { certificateJobs, removeName, revocationQueue, revocationReasons, revokeCertificateOf } from './revoke.ts'
export { certificatesChannel } from './store.ts'
