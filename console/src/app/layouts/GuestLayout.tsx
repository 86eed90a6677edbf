import { Link, Outlet } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { Logo } from '../../ui/Logo.tsx'

/** The product claims next to the sign-in forms (spec 1). */
const claims = [
  ['One-click deployment', 'A manifest and one command. Shoal sets up URLs, the database and TLS.'],
  ['Fast indexing', 'Squids read blocks in batches from a data lake, not one call at a time.'],
  ['On-demand scaling', 'From a shared core to dedicated machines, without downtime.'],
  ['Trusted by industry leaders', 'The same squids and the same command line, on open-source infrastructure.'],
  ['Dedicated support', 'Engineers who run indexers themselves answer your questions.'],
] as const

/** Layout of the sign-in pages: the form, and on wide screens a product summary. */
export default function GuestLayout() {
  return (
    <div className="grid min-h-dvh md:grid-cols-2">
      <main className="flex px-4 py-10">
        <div className="m-auto w-full max-w-90">
          <Link to="/" className="mb-8.5 inline-flex items-center gap-2 rounded-sm text-brand font-semibold">
            <Logo size={24} className="text-accent" />
            Shoal
          </Link>
          <Outlet />
        </div>
      </main>
      <aside data-theme="dark" className="relative hidden overflow-hidden bg-accent-soft text-ink md:flex">
        <div className="relative m-auto w-full max-w-115 px-10">
          <p className="text-2xl font-semibold tracking-tight text-balance">From manifest to GraphQL in one command.</p>
          <ul className="mt-8 space-y-4.5">
            {claims.map(([claim, details]) => (
              <li key={claim} className="flex gap-3">
                <Check size={16} aria-hidden className="mt-0.5 shrink-0 text-accent" />
                <span>
                  <span className="block font-medium">{claim}</span>
                  <span className="block text-ink-2">{details}</span>
                </span>
              </li>
            ))}
          </ul>
        </div>
        <Logo size={460} className="absolute -right-44 -bottom-56 text-accent opacity-10" />
      </aside>
    </div>
  )
}
