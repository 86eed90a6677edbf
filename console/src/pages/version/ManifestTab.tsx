import { useVersion } from './use-version.ts'

export default function ManifestTab() {
  return <p>{useVersion().reference}</p>
}
