import { runCommand } from './command.ts'

// `npm run verify-signatures` verifies that the registry signed every installed package. Skipped if the registry cannot be reached or
// does not publish the keys of its signatures, as private registries and mirrors often do not.
const unavailable =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|No dependencies found with signatures|no keys|E(403|404|405|5\d\d)\b|not supported/i

// npm would inherit the log level of `npm run -s`, with which it does not print why it failed.
const args = ['audit', 'signatures', '--loglevel=error', '--fetch-retries=0']
const { code, output } = await runCommand('npm', args)
const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith('npm warn'))
const reason = lines.find((line) => unavailable.test(line))
if (code !== 0 && reason) console.log(`Signatures were not verified: ${reason.replace(/^npm error (code )?/, '')}`)
else {
  console.log(lines.join('\n') || `npm ended with code ${code} and printed nothing.`)
  process.exitCode = code
}
