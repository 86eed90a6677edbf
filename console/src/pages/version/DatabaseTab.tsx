import { useVersion } from './use-version.ts'

export default function DatabaseTab() {
  return <p>{useVersion().reference}</p>
}
