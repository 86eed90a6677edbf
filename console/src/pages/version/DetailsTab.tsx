import { useVersion } from './use-version.ts'

export default function DetailsTab() {
  return <p>{useVersion().reference}</p>
}
