#!/bin/sh
# Makes an authority and a certificate signed by it, for tests on this machine.
#
#   make_cert.sh FOLDER [NAME...]
#
# Writes ca.pem, cert.pem and key.pem into FOLDER. The certificate is for the given names
# (default: localhost and 127.0.0.1) and lasts 30 days.
set -eu

folder=${1:?"usage: make_cert.sh FOLDER [NAME...]"}
shift
[ $# -gt 0 ] || set -- localhost 127.0.0.1
mkdir -p "$folder"

names=
for name in "$@"; do
    case $name in
        *[!0-9.]*) kind=DNS ;;
        *) kind=IP ;;
    esac
    names=${names:+$names,}$kind:$name
done

log=$folder/openssl.log
trap '[ $? -eq 0 ] || cat "$log" >&2' EXIT

curve="ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
# shellcheck disable=SC2086
openssl req -x509 -newkey $curve -days 30 -subj "/CN=Errand test authority" \
    -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign" \
    -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>"$log"
# shellcheck disable=SC2086
openssl req -newkey $curve -subj "/CN=$1" \
    -keyout "$folder/key.pem" -out "$folder/request.pem" 2>"$log"
printf 'subjectAltName=%s\nbasicConstraints=CA:FALSE\n' "$names" >"$folder/extensions"
openssl x509 -req -in "$folder/request.pem" -days 30 -extfile "$folder/extensions" \
    -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial \
    -out "$folder/cert.pem" 2>"$log"
rm -f "$folder/request.pem" "$folder/extensions" "$folder/ca.srl" "$log"
