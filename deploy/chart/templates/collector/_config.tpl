{{- define "shoal.collectorConfig" -}}
receivers:
  file_log:
    # The collector sends lines unchanged, with their offsets in the file, by which the worker recognizes lines that it already has.
    include: [/var/log/pods/shoal-*-o*_w*/*/*.log, /var/log/pods/shoal-*-o*_w*/*/*.log.*]
    exclude: [/var/log/pods/*/*/*.gz, /var/log/pods/*/*/*.tmp]
    start_at: beginning
    include_file_name: false
    include_file_path: true
    include_file_record_offset: true
    preserve_leading_whitespaces: true
    preserve_trailing_whitespaces: true
    storage: file_storage
exporters:
  otlp_http:
    logs_endpoint: http://{{ include "shoal.name" . }}-worker-logs.{{ .Release.Namespace }}.svc:4319/v1/logs
    encoding: json
    headers:
      authorization: Bearer ${env:SHOAL_KUBE_LOGS_TOKEN}
    retry_on_failure:
      initial_interval: 1s
      max_interval: 5s
      max_elapsed_time: 0
    sending_queue:
      # While the queue is full, lines stay in the files of the node, until kubelet deletes them.
      storage: file_storage
      sizer: bytes
      queue_size: 268435456
      block_on_overflow: true
      num_consumers: 1
      batch:
        sizer: bytes
        min_size: 1048576
        max_size: 2097152
        flush_timeout: 200ms
extensions:
  file_storage:
    directory: /var/lib/collector
service:
  extensions: [file_storage]
  telemetry:
    metrics:
      level: none
  pipelines:
    logs:
      receivers: [file_log]
      exporters: [otlp_http]
{{- end -}}
