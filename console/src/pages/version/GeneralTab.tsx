import { useVersion } from './use-version.ts'

export default function GeneralTab() {
  return <p>{useVersion().reference}</p>
}
