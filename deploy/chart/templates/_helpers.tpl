{{/* Argument: the chart's context. The prefix of the names of all objects. */}}
{{- define "shoal.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Arguments: root, role. The labels that select the pods of a role. */}}
{{- define "shoal.selector" -}}
app.kubernetes.io/name: shoal
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{/* Arguments: root, role. The labels of an object. `managed-by` is not `shoal`, since that value marks the objects of squids. */}}
{{- define "shoal.labels" -}}
{{ include "shoal.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* What the Pod Security level "restricted" requires of a pod. */}}
{{- define "shoal.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "shoal.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Arguments: root, names, isOptional. Environment variables with the values of these keys of `existingSecret`. */}}
{{- define "shoal.secretEnv" -}}
{{- range .names }}
- name: {{ . }}
  valueFrom:
    secretKeyRef: { name: {{ $.root.Values.existingSecret }}, key: {{ . }}{{ if $.isOptional }}, optional: true{{ end }} }
{{- end -}}
{{- end -}}

{{/* Arguments: root, role. The environment variables of a role. */}}
{{- define "shoal.env" -}}
- name: SHOAL_ROLES
  value: {{ .role }}
{{- include "shoal.secretEnv" (dict "root" .root "names" (concat (list "DATABASE_URL" "SHOAL_SQUIDS_DATABASE_URL" "SHOAL_SECRETS_KEY") .root.Values.secretSettings)) }}
{{- include "shoal.secretEnv" (dict "root" .root "names" (list "SHOAL_METRICS_TOKEN") "isOptional" true) }}
{{- if ne .role "gateway" }}
{{- include "shoal.secretEnv" (dict "root" .root "names" (list "SHOAL_S3_ACCESS_KEY" "SHOAL_S3_SECRET_KEY") "isOptional" true) }}
{{- end }}
{{- if eq .role "worker" }}
- name: SHOAL_KUBE_BUILDS_LISTEN
  value: 0.0.0.0:4320
{{- if .root.Values.collector.enabled }}
- name: SHOAL_KUBE_LOGS_LISTEN
  value: 0.0.0.0:4319
{{- include "shoal.secretEnv" (dict "root" .root "names" (list "SHOAL_KUBE_LOGS_TOKEN")) }}
{{- end }}
{{- if .root.Values.registry.pushSecret }}
- name: SHOAL_REGISTRY_AUTH_FILE
  value: /etc/shoal/registry-push/config.json
{{- end }}
{{- if .root.Values.registry.pullSecret }}
- name: SHOAL_KUBE_PULL_AUTH_FILE
  value: /etc/shoal/registry-pull/config.json
{{- end }}
{{- end }}
{{- end -}}

{{/* Arguments: root, role. The image, probes and security of a role's container. */}}
{{- define "shoal.container" -}}
name: {{ .role }}
image: {{ .root.Values.image }}
envFrom:
  - configMapRef: { name: {{ include "shoal.name" .root }}-settings }
env:
  {{- include "shoal.env" . | nindent 2 }}
securityContext:
  {{- include "shoal.containerSecurity" . | nindent 2 }}
resources:
  {{- toYaml (index .root.Values .role).resources | nindent 2 }}
# The health port is open before the server migrates the database.
startupProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}

{{/* Arguments: root, role. The fields of a pod that all roles have. */}}
{{- define "shoal.pod" -}}
serviceAccountName: {{ include "shoal.name" .root }}-{{ .role }}
automountServiceAccountToken: {{ ne .role "api" }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  {{- include "shoal.podSecurity" . | nindent 2 }}
# Kubernetes stops routing to an ending pod within seconds. Connections then end within SHOAL_DRAIN_SECONDS, 20 by default.
terminationGracePeriodSeconds: 60
{{- end -}}
